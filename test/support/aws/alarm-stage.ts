// One alarm on its way from green to ALARM and back: a clock that the test moves by periods, and
// the values that the system wrote, by its metric lines (embedded metric format) or its queues.

import {
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { vi } from 'vitest';
import { createMetrics, type Metrics } from '#core/metrics.ts';
import { type AlarmName, alarmEntries, inStage } from '#infra/monitoring/alarm-entries.ts';
import { stage, synthesize, withDomain } from '#infra/privileges/synthesized.ts';
import {
  type AlarmOfTemplate,
  periodMsOf,
  type Sample,
  stateOf,
  watchedBy,
} from './alarm-state.ts';

const alarms = new Map<string, AlarmOfTemplate>(
  synthesize(withDomain)
    .ofType('AWS::CloudWatch::Alarm')
    .map(({ properties }) => [properties.AlarmName.slice(`${stage}-`.length), properties]),
);
export const alarmNames: readonly string[] = [...alarms.keys()];

/** What the first command of a queue's alarm shows: its messages, which stay visible. */
export async function messagesShownBy(sqs: SQSClient, name: AlarmName): Promise<Message[]> {
  const command = inStage(stage, alarmEntries[name].firstCommand);
  const [, QueueName] = /--queue-name (\S+)/.exec(command) ?? [];
  const { QueueUrl } = await sqs.send(new GetQueueUrlCommand({ QueueName }));
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl,
      MessageAttributeNames: ['cause'],
      VisibilityTimeout: Number(/--visibility-timeout (\d+)/.exec(command)?.[1]),
    }),
  );
  return Messages;
}

export class AlarmStage {
  readonly alarm: AlarmOfTemplate;
  readonly samples: Sample[] = [];
  #now = 0;

  constructor(name: string) {
    const alarm = alarms.get(name);
    if (!alarm) throw new TypeError(`The template has no alarm ${name}.`);
    this.alarm = alarm;
    this.#now = periodMsOf(alarm);
  }

  state(): 'ALARM' | 'OK' {
    return stateOf(this.alarm, this.samples, this.#now);
  }

  /** Begins the next period, without data. */
  nextPeriod(): void {
    this.#now += periodMsOf(this.alarm);
  }

  /** The number of periods that must be over the threshold. */
  get periods(): number {
    return this.alarm.EvaluationPeriods;
  }

  /** Does the work in each of the alarm's periods. */
  async inEachPeriod(work: () => Promise<unknown>): Promise<void> {
    for (let period = 1; period <= this.periods; period++) {
      this.nextPeriod();
      await work();
    }
  }

  add(sample: Omit<Sample, 'at'>): void {
    this.samples.push({ ...sample, at: this.#now });
  }

  /** The value of metrics that only AWS makes: of the first that the alarm watches. */
  give(value: number): void {
    const { Namespace, MetricName, Dimensions = [] } = watchedBy(this.alarm)[0]?.metric ?? {};
    const dimensions = Object.fromEntries(Dimensions.map(({ Name, Value }) => [Name, Value]));
    this.add({ namespace: Namespace ?? '', name: MetricName ?? '', dimensions, value });
  }

  /** Runs with the functions' own metrics, and reads the lines that they write. */
  async counted<T>(work: (metrics: Metrics) => Promise<T>): Promise<T> {
    vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'false');
    const lines: string[] = [];
    const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      lines.push(String(text));
      return true;
    });
    try {
      return await work(createMetrics(stage));
    } finally {
      spy.mockRestore();
      vi.unstubAllEnvs();
      for (const line of lines) this.#read(line);
    }
  }

  /** Reads a queue's depth as CloudWatch names it. */
  async depth(sqs: SQSClient, QueueUrl: string): Promise<number> {
    const { Attributes } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }),
    );
    const value = Number(Attributes?.ApproximateNumberOfMessages);
    const QueueName = QueueUrl.split('/').at(-1) ?? '';
    const name = 'ApproximateNumberOfMessagesVisible';
    this.add({ namespace: 'AWS/SQS', name, dimensions: { QueueName }, value });
    return value;
  }

  /** Counts an invocation as Lambda does: an error if it throws. */
  async invoked(functionName: string, work: () => Promise<unknown>): Promise<void> {
    const value = await work().then(
      () => 0,
      () => 1,
    );
    const dimensions = { FunctionName: `${stage}-${functionName}` };
    this.add({ namespace: 'AWS/Lambda', name: 'Errors', dimensions, value });
  }

  #read(text: string): void {
    if (!text.includes('CloudWatchMetrics')) return;
    const line = JSON.parse(text);
    for (const { Namespace, Dimensions, Metrics } of line._aws.CloudWatchMetrics) {
      for (const { Name } of Metrics) {
        for (const set of Dimensions as string[][]) {
          const dimensions = Object.fromEntries(set.map((name) => [name, line[name]]));
          for (const value of [line[Name]].flat()) {
            this.add({ namespace: Namespace, name: Name, dimensions, value });
          }
        }
      }
    }
  }
}
