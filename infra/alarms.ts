import { Duration } from 'aws-cdk-lib';
import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';

export interface Watched {
  readonly stage: string;
  /** Where messages end that nobody could work on or deliver; by name without the stage. */
  readonly deadQueues: Readonly<Record<string, IQueue>>;
  readonly changes: IFunction;
  readonly announcements: IFunction;
  readonly sweep: IFunction;
}

/** What an operator is told of. docs/operations.md has an entry for each, by its name. */
export class Alarms extends Construct {
  readonly #stage: string;

  constructor(
    scope: Construct,
    id: string,
    { stage, deadQueues, changes, announcements, sweep }: Watched,
  ) {
    super(scope, id);
    this.#stage = stage;
    const period = Duration.minutes(1);
    for (const [name, queue] of Object.entries(deadQueues)) {
      const visible = queue.metricApproximateNumberOfMessagesVisible({ period });
      this.#add(name, visible, 1, 1);
    }
    // Whatever follows from a committed change waits behind the streams. A bind has 240 s.
    this.#add(
      'changes-late',
      changes.metric('IteratorAge', { period, statistic: 'max' }),
      60_000,
      2,
    );
    this.#add(
      'announcements-late',
      announcements.metric('IteratorAge', { period, statistic: 'max' }),
      300_000,
      2,
    );
    // Deadlines are enforced by the sweep alone; one that failed is made up for by the next.
    this.#add('sweep-fails', sweep.metricErrors({ period }), 1, 3);
  }

  #add(name: string, metric: IMetric, threshold: number, evaluationPeriods: number): void {
    new Alarm(this, name, {
      alarmName: `${this.#stage}-${name}`,
      alarmDescription: `See ${name} in docs/operations.md.`,
      metric,
      threshold,
      evaluationPeriods,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      // Idle queues and functions say nothing.
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
  }
}
