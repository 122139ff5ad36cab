// The dashboard: the alarms first, then one row per flow, in the order of a server's life.

import {
  AlarmStatusWidget,
  Dashboard as CloudWatchDashboard,
  GraphWidget,
  type IAlarm,
  type IMetric,
  type IWidget,
  MathExpression,
  PeriodOverride,
  Stats,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { queues, streamConsumers } from '#core/contracts/queues/queues.ts';
import { ruleStatement, rules } from '#core/contracts/queues/rules.ts';
import { routes } from '#functions/routes.ts';
import {
  apiMetric,
  deadQueueNames,
  functionMetric,
  hour,
  ownMetric,
  ownMetrics,
  queueMetric,
  tableMetric,
} from './metrics.ts';

export interface Shown {
  readonly stage: string;
  readonly apiId: string;
  readonly hasConsole: boolean;
  readonly alarms: readonly IAlarm[];
}

interface Row {
  readonly question: string;
  readonly graphs: readonly { readonly title: string; readonly metrics: readonly IMetric[] }[];
}

const latencies = ['p50', 'p99'] as const;
const allResources = [...new Set(routes.map(({ resource }) => resource))];
const consumers = [
  ...queues.map(({ name }) => name),
  ...streamConsumers,
  'sweep',
  'release-check',
] as const;

function rowsOf({ stage, apiId, hasConsole }: Shown): Row[] {
  const resources = allResources.filter((each) => hasConsole || each !== 'console');
  const errors = (names: typeof resources | typeof consumers) =>
    names.map((name) => functionMetric(stage, name, 'Errors'));
  const throttles = (names: typeof resources | typeof consumers) =>
    names.map((name) => functionMetric(stage, name, 'Throttles'));
  const oldest = (name: string) =>
    queueMetric(stage, name, 'ApproximateAgeOfOldestMessage', { statistic: Stats.MAXIMUM });
  const atLatencies = (metric: (statistic: string) => IMetric) => latencies.map(metric);
  const hourly = { period: hour, statistic: Stats.AVERAGE };
  return [
    {
      question: 'Does the API answer?',
      graphs: [
        {
          title: 'Requests',
          metrics: (['Count', '4xx', '5xx'] as const).map((measure) => apiMetric(apiId, measure)),
        },
        {
          title: 'Latency, ms',
          metrics: atLatencies((statistic) =>
            apiMetric(apiId, 'Latency', { statistic, label: statistic }),
          ),
        },
        { title: 'Errors of functions', metrics: errors(resources) },
        { title: 'Throttled functions', metrics: throttles(resources) },
      ],
    },
    {
      question: 'Are binds resolved, and is Nova notified?',
      graphs: [
        { title: 'Bound ARQs, by what they waited for', metrics: ownMetrics(stage, 'ArqsBound') },
        { title: 'Failed ARQs, by cause', metrics: ownMetrics(stage, 'ArqsFailed') },
        {
          title: 'Bind latency where the host works, ms',
          metrics: atLatencies((statistic) =>
            ownMetric(stage, 'BindLatency', 'by-host', { statistic, label: statistic }),
          ),
        },
        {
          title: 'Nova is notified after, ms',
          metrics: [
            ...atLatencies((statistic) =>
              ownMetric(stage, 'NovaToldAfter', undefined, { statistic, label: statistic }),
            ),
            ownMetric(stage, 'NovaNotTold'),
          ],
        },
      ],
    },
    {
      question: 'Does a queue lag, or has it dead letters?',
      graphs: [
        { title: 'Oldest message, s', metrics: queues.map(({ name }) => oldest(name)) },
        {
          title: 'Age of the streams, ms',
          metrics: streamConsumers.map((name) =>
            functionMetric(stage, name, 'IteratorAge', { statistic: Stats.MAXIMUM }),
          ),
        },
        {
          title: 'Dead letters',
          metrics: deadQueueNames.map((name) =>
            queueMetric(stage, name, 'ApproximateNumberOfMessagesVisible', {
              statistic: Stats.MAXIMUM,
            }),
          ),
        },
        { title: 'Oldest dead letter, s', metrics: deadQueueNames.map(oldest) },
      ],
    },
    {
      question: 'Do consumers work?',
      graphs: [
        { title: 'Errors', metrics: errors(consumers) },
        { title: 'Throttled', metrics: throttles(consumers) },
        {
          title: 'Throttled tables',
          metrics: (['arqs', 'inventory'] as const).flatMap((table) => [
            tableMetric(stage, table, 'ReadThrottleEvents'),
            tableMetric(stage, table, 'WriteThrottleEvents'),
          ]),
        },
        {
          title: 'Gone instances',
          metrics: [ownMetric(stage, 'InstancesReaped'), ...ownMetrics(stage, 'ReaperRefused')],
        },
      ],
    },
    {
      question: 'Are hosts connected?',
      graphs: [
        { title: 'Hosts, of the last hour', metrics: ownMetrics(stage, 'Hosts', hourly) },
        {
          title: 'Connections of agents',
          metrics: [ownMetric(stage, 'AgentsConnected'), ownMetric(stage, 'AgentsDisconnected')],
        },
        {
          title: 'Reports',
          metrics: [
            queueMetric(stage, 'inventory-reports', 'NumberOfMessagesSent'),
            ownMetric(stage, 'ReportsInConflict'),
            ownMetric(stage, 'DevicesRefused'),
          ],
        },
        {
          title: 'Failed rule actions',
          metrics: rules.map((row) => failuresOf(ruleStatement(row, stage).name)),
        },
      ],
    },
    {
      question: 'Which handles are available?',
      graphs: [
        {
          title: 'Attach handles, of the last hour',
          metrics: ownMetrics(stage, 'Handles', hourly),
        },
        {
          title: 'Devices',
          metrics: [ownMetric(stage, 'DevicesAdded'), ownMetric(stage, 'DevicesRemoved')],
        },
        {
          title: 'Devices of servers that are not attached as bound',
          metrics: [ownMetric(stage, 'DevicesNotAttached')],
        },
        { title: 'Released ARQs', metrics: [ownMetric(stage, 'ArqsReleased')] },
        {
          title: 'Withheld',
          metrics: [ownMetric(stage, 'QuarantinesBegun'), ownMetric(stage, 'DevicesOfferedTwice')],
        },
      ],
    },
  ];
}

/**
 * The rule's name is the dimension, whatever its action:
 * https://docs.aws.amazon.com/iot/latest/developerguide/metrics_dimensions.html
 */
function failuresOf(rule: string): IMetric {
  return new MathExpression({
    expression: `SUM(SEARCH('{AWS/IoT,ActionType,RuleName} RuleName="${rule}" MetricName="Failure"', 'Sum', 300))`,
    usingMetrics: {},
    label: rule,
  });
}

const width = 24;

export class Dashboard extends Construct {
  readonly name: string;

  constructor(scope: Construct, id: string, shown: Shown) {
    super(scope, id);
    this.name = `${shown.stage}-cyborg`;
    const widgets: IWidget[][] = rowsOf(shown).map(({ question, graphs }) => [
      new TextWidget({ markdown: `## ${question}`, width, height: 1 }),
      ...graphs.map(
        ({ title, metrics }) =>
          new GraphWidget({ title, left: [...metrics], width: width / graphs.length, height: 6 }),
      ),
    ]);
    new CloudWatchDashboard(this, 'Dashboard', {
      dashboardName: this.name,
      // Hourly metrics are meaningless in shorter periods.
      periodOverride: PeriodOverride.INHERIT,
      widgets: [
        [
          new AlarmStatusWidget({
            title: 'docs/operations.md has an entry for each alarm.',
            alarms: [...shown.alarms],
            width,
            height: 6,
          }),
        ],
        ...widgets,
      ],
    });
  }
}
