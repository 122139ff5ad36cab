import { Aws, Duration, Tags } from 'aws-cdk-lib';
import {
  Alarm,
  ComparisonOperator,
  type IAlarmAction,
  type IMetric,
  MathExpression,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { HostState } from '#core/domain/host/host-state.ts';
import { compareHoursMax } from '#core/domain/placement/tree-looks.ts';
import type { FunctionName } from '#infra/access.ts';
import type { AlarmActions } from '#infra/settings/choices.ts';
import { type AlarmEntry, type AlarmName, alarmEntries, inStage } from './alarm-entries.ts';
import { logsInsightsUrl } from './logs-insights.ts';
import {
  apiMetric,
  daysToExpiry,
  deadQueueNames,
  functionMetric,
  hour,
  ownMetric,
  ownMetrics,
  queueMetric,
  sumOf,
  tableMetric,
  unauthorized,
} from './metrics.ts';
import { runbookOf } from './runbooks.ts';

export interface Watched {
  readonly stage: string;
  readonly apiId: string;
  /** Functions with reserved concurrency, which also limits them. */
  readonly limited: readonly FunctionName[];
  /** The certificate of the API's own domain name. */
  readonly certificateArn: string | undefined;
  /** The action on each change of state. */
  readonly action: IAlarmAction | undefined;
  /** Which alarms have the action. */
  readonly actionsOf: AlarmActions;
  readonly runbooks: string | undefined;
}

interface AlarmRow {
  /** Without the stage. docs/operations.md has an entry for each. */
  readonly name: AlarmName;
  readonly metric: IMetric;
  readonly threshold: number;
  /** Number of consecutive periods. */
  readonly periods: number;
  /**
   * A measurement of the fleet counts it, which takes about an hour in a large cloud: an hour
   * without one leaves the alarm as it is.
   */
  readonly isMeasured?: true;
}

const minute = { period: Duration.minutes(1) };

/** All alarms. Each metric of an alarm costs $0.10 a month. */
function rowsOf({ stage, apiId, limited, certificateArn }: Watched): AlarmRow[] {
  const failures = (['deadline', 'host', 'device', 'quarantine'] as const).map((cause) =>
    ownMetric(stage, 'ArqsFailed', cause),
  );
  const bindFunctions = ['changes', 'nova-events', 'host-jobs', 'job-events'] as const;
  const hosts = (state: HostState) =>
    ownMetric(stage, 'Hosts', state, { period: hour, statistic: Stats.AVERAGE });
  const [online, away] = [hosts('online'), hosts('away')];
  const lateness = { ...minute, statistic: Stats.MAXIMUM };
  return [
    ...deadQueueNames.map((name) => ({
      name,
      metric: queueMetric(stage, name, 'ApproximateNumberOfMessagesVisible', lateness),
      threshold: 1,
      periods: 1,
    })),

    { name: 'api-errors', metric: apiMetric(apiId, '5xx'), threshold: 5, periods: 1 },
    // Clients renew tokens before they expire, so a cloud has a few 401 per hour. The throttled
    // routes alone allow 6,000 requests in five minutes.
    { name: 'unauthorized', metric: unauthorized(stage), threshold: 1_000, periods: 1 },
    ...(certificateArn ? [certificateEnds(certificateArn)] : []),
    // Every consequence of a committed change waits behind the streams. A bind has 240 s.
    {
      name: 'changes-late',
      metric: functionMetric(stage, 'changes', 'IteratorAge', lateness),
      threshold: 60_000,
      periods: 2,
    },
    {
      name: 'announcements-late',
      metric: functionMetric(stage, 'announcements', 'IteratorAge', lateness),
      threshold: 300_000,
      periods: 2,
    },
    // Only the sweep enforces deadlines; the next sweep makes up for a failed one.
    {
      name: 'sweep-fails',
      metric: functionMetric(stage, 'sweep', 'Errors', minute),
      threshold: 1,
      periods: 3,
    },
    {
      name: 'consumers-fail',
      metric: sumOf(
        'errors',
        bindFunctions.map((name) => functionMetric(stage, name, 'Errors')),
      ),
      threshold: 3,
      periods: 2,
    },
    {
      name: 'functions-throttled',
      metric: sumOf(
        'throttles',
        [...new Set<FunctionName>(['accelerator-requests', 'changes', ...limited])].map((name) =>
          functionMetric(stage, name, 'Throttles'),
        ),
      ),
      threshold: 1,
      periods: 2,
    },
    {
      name: 'tables-throttled',
      metric: sumOf(
        'throttles',
        (['arqs', 'inventory'] as const).flatMap((table) => [
          tableMetric(stage, table, 'ReadThrottleEvents'),
          tableMetric(stage, table, 'WriteThrottleEvents'),
        ]),
      ),
      threshold: 10,
      periods: 2,
    },

    // Causes on our side or on the hosts'. A missing image is the profile's fault.
    { name: 'binds-fail', metric: sumOf('failed', failures), threshold: 5, periods: 1 },
    {
      name: 'binds-slow',
      metric: ownMetric(stage, 'BindLatency', 'by-host', { statistic: 'p90' }),
      threshold: 120_000,
      periods: 2,
    },
    { name: 'nova-not-told', metric: ownMetric(stage, 'NovaNotTold'), threshold: 1, periods: 1 },
    {
      name: 'placement-late',
      metric: queueMetric(stage, 'provider-syncs', 'ApproximateAgeOfOldestMessage', {
        statistic: Stats.MAXIMUM,
      }),
      threshold: hour.toSeconds(),
      periods: 3,
    },

    {
      name: 'handles-quarantined',
      metric: ownMetric(stage, 'Handles', 'quarantined', {
        period: hour,
        statistic: Stats.MAXIMUM,
      }),
      threshold: 1,
      periods: 1,
      isMeasured: true,
    },
    {
      name: 'devices-offered-twice',
      metric: ownMetric(stage, 'DevicesOfferedTwice', undefined, {
        period: Duration.hours(compareHoursMax),
      }),
      threshold: 1,
      periods: 1,
    },
    {
      name: 'devices-not-attached',
      metric: ownMetric(stage, 'DevicesNotAttached'),
      threshold: 1,
      periods: 1,
    },
    {
      name: 'reaper-refuses',
      metric: sumOf('refused', ownMetrics(stage, 'ReaperRefused')),
      threshold: 1,
      periods: 3,
    },
    // Agents send heartbeats every 20 minutes, so the alarm lasts as long as the conflict.
    {
      name: 'reports-in-conflict',
      metric: ownMetric(stage, 'ReportsInConflict', undefined, { period: Duration.minutes(30) }),
      threshold: 1,
      periods: 1,
    },
    // Many hosts at once: a network, a rack, or a policy. A single host shows in hosts-absent.
    {
      name: 'hosts-lost',
      metric: new MathExpression({
        expression: 'lost - FILL(back, 0)',
        usingMetrics: {
          lost: ownMetric(stage, 'AgentsDisconnected'),
          back: ownMetric(stage, 'AgentsConnected'),
        },
        label: 'lost and not reconnected',
      }),
      threshold: 10,
      periods: 1,
    },
    {
      name: 'hosts-absent',
      metric: new MathExpression({
        expression: '100 * away / (away + online)',
        usingMetrics: { away, online },
        label: '% of hosts',
        period: hour,
      }),
      threshold: 10,
      periods: 1,
      isMeasured: true,
    },
    // Each host sends a heartbeat every 20 minutes.
    {
      name: 'reports-silent',
      metric: new MathExpression({
        expression: 'IF(online >= 1 AND FILL(sent, 0) < 1, 1, 0)',
        usingMetrics: {
          online,
          sent: queueMetric(stage, 'inventory-reports', 'NumberOfMessagesSent', { period: hour }),
        },
        label: 'silent',
        period: hour,
      }),
      threshold: 1,
      periods: 1,
      isMeasured: true,
    },
  ];
}

/** ACM renews its own certificates 60 days before their end; what is left then needs a person. */
function certificateEnds(certificateArn: string): AlarmRow {
  const metric = new MathExpression({
    expression: 'IF(days < 30, 1, 0)',
    usingMetrics: { days: daysToExpiry(certificateArn) },
    label: 'ends soon',
    period: Duration.days(1),
  });
  return { name: 'certificate-ends', metric, threshold: 1, periods: 1 };
}

/** The alarms, with an action if the deployment has one. */
export class Alarms extends Construct {
  readonly all: readonly Alarm[];

  constructor(scope: Construct, id: string, watched: Watched) {
    super(scope, id);
    this.all = rowsOf(watched).map(({ name, metric, threshold, periods, isMeasured }) => {
      const alarm = new Alarm(this, name, {
        alarmName: `${watched.stage}-${name}`,
        alarmDescription: descriptionOf(name, watched),
        metric,
        threshold,
        evaluationPeriods: periods,
        comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        // Idle queues and functions report no data.
        treatMissingData: isMeasured ? TreatMissingData.IGNORE : TreatMissingData.NOT_BREACHING,
      });
      const { severity } = alarmEntries[name];
      Tags.of(alarm).add('severity', severity);
      if (watched.action && (watched.actionsOf === 'all' || severity === 'page')) {
        alarm.addAlarmAction(watched.action);
        alarm.addOkAction(watched.action);
      }
      return alarm;
    });
  }
}

/** At most 1,024 characters. The address of the query comes last: nothing is added to it. */
function descriptionOf(name: AlarmName, { stage, runbooks }: Watched): string {
  const { severity, meaning, firstCommand, logs }: AlarmEntry = alarmEntries[name];
  const lines = [
    meaning,
    `Severity: ${severity}`,
    `First: ${inStage(stage, firstCommand)}`,
    `Runbook: ${runbookOf(name, runbooks)}`,
  ];
  if (logs) {
    const groups = logs.groups.map((group) => inStage(stage, group));
    lines.push(`Logs: ${logsInsightsUrl(Aws.REGION, { ...logs, groups })}`);
  }
  return lines.join('\n');
}
