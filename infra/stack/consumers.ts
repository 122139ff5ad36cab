import { Duration, Stack } from 'aws-cdk-lib';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { CfnEventSourceMapping, FilterCriteria, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import {
  DynamoEventSource,
  type DynamoEventSourceProps,
  SqsDlq,
  SqsEventSource,
} from 'aws-cdk-lib/aws-lambda-event-sources';
import { Schedule, ScheduleExpression, TimeWindow } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { Construct } from 'constructs';
import {
  deadLetterQueueName,
  type QueueRow,
  queues as queueRows,
  type StreamConsumerName,
} from '#core/contracts/queues/queues.ts';
import { queueUrlVariable } from '#core/settings.ts';
import { tables as tableRows } from '#core/store/table/tables.ts';
import type { FunctionName } from '#infra/access.ts';
import { constructId } from '#infra/construct-id.ts';
import { queueOfLosses } from '#infra/storage/queues.ts';
import { LambdaFunction, type Surroundings } from './lambda-function.ts';
import {
  announcedChanges,
  announcedWithinSeconds,
  type ChangePatterns,
  followedChanges,
} from './stream-filters.ts';

// Cold starts of consumers do not matter.
const memoryMb = 512;
/** Its consumer waits for Nova nearly all the time. */
const memoryMbOfNovaEvents = 256;
const streamTimeoutSeconds = 30;
const sweepTimeoutSeconds = 60;
const sweepEvery = Duration.minutes(1);

/** A function per queue, two for the tables' streams, and the sweep, each with its trigger. */
export class Consumers extends Construct {
  constructor(scope: Construct, id: string, surroundings: Surroundings) {
    super(scope, id);
    for (const row of queueRows) this.#consumeQueue(surroundings, row);
    this.#readStreams(surroundings, 'changes', followedChanges);
    this.#readStreams(surroundings, 'announcements', announcedChanges, {
      maxBatchingWindow: Duration.seconds(announcedWithinSeconds),
    });
    this.#sweep(surroundings);
  }

  #consumeQueue(surroundings: Surroundings, row: QueueRow & (typeof queueRows)[number]): void {
    const consumer = this.#function(surroundings, row.name, row.timeoutSeconds);
    const queue = surroundings.queues[row.name];
    consumer.addEventSource(
      new SqsEventSource(queue, {
        batchSize: row.batchSize,
        maxConcurrency: row.concurrencyMax,
        reportBatchItemFailures: true,
      }),
    );
    // Changes the visibility of a message until its next attempt.
    consumer.addEnvironment(queueUrlVariable(row.name), queue.queueUrl);
    const dead = queue.deadLetterQueue?.queue;
    if (dead) consumer.allowDeadLettering(row.name, dead);
  }

  /**
   * The streams are the outbox. A failed batch is retried until its records expire, 24 hours
   * later, since a skipped record loses its consequences. A failed batch is also split, so that
   * one bad record does not block those before it. The function dead-letters unreadable records
   * itself. Each reader has its own position; a stream allows two readers.
   */
  #readStreams(
    surroundings: Surroundings,
    name: StreamConsumerName,
    patterns: ChangePatterns,
    more: Partial<DynamoEventSourceProps> = {},
  ): void {
    const { tables, settings } = surroundings;
    const deadName = deadLetterQueueName(settings.stage, name);
    const dead = queueOfLosses(this, `${constructId(name)}DeadQueue`, deadName);
    const consumer = this.#function(surroundings, name, streamTimeoutSeconds);
    consumer.allowDeadLettering(name, dead);
    for (const { name: table } of tableRows.filter((row) => row.hasStream)) {
      if (patterns[table].length === 0) continue;
      consumer.addEventSource(
        // The CDK's own types contradict each other under exactOptionalPropertyTypes.
        new DynamoEventSource(tables[table] as ITable, {
          // Includes changes that were committed before the function existed.
          startingPosition: StartingPosition.TRIM_HORIZON,
          batchSize: 100,
          bisectBatchOnError: true,
          reportBatchItemFailures: true,
          retryAttempts: -1,
          onFailure: new SqsDlq(dead),
          filters: patterns[table].map((pattern) => FilterCriteria.filter(pattern)),
          ...more,
        }),
      );
    }
    pointToAlias(consumer);
  }

  #sweep(surroundings: Surroundings): void {
    const { stage } = surroundings.settings;
    const consumer = this.#function(surroundings, 'sweep', sweepTimeoutSeconds);
    const role = new Role(this, 'SweepScheduleRole', {
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    });
    role.addToPolicy(
      new PolicyStatement({
        actions: ['lambda:InvokeFunction'],
        resources: [consumer.functionArn],
      }),
    );
    new Schedule(this, 'SweepSchedule', {
      scheduleName: `${stage}-sweep`,
      schedule: ScheduleExpression.rate(sweepEvery),
      timeWindow: TimeWindow.off(),
      // The next sweep repeats whatever this one missed.
      target: new LambdaInvoke(consumer, {
        retryAttempts: 0,
        maxEventAge: sweepEvery,
        // The CDK would add a permission for every version of the function; there are no
        // versions.
        role: role.withoutPolicyUpdates(),
      }),
    });
  }

  #function(surroundings: Surroundings, name: FunctionName, timeoutSeconds: number) {
    const entry = `functions/consumers/${name}.ts`;
    const size = name === 'nova-events' ? memoryMbOfNovaEvents : memoryMb;
    return new LambdaFunction(this, surroundings, { name, entry, timeoutSeconds, memoryMb: size });
  }
}

/**
 * An event source of the alias itself would have another logical id: an update would create a
 * second reader, which begins a day ago.
 */
function pointToAlias(consumer: LambdaFunction): void {
  const { live } = consumer;
  if (!live) return;
  for (const source of consumer.node.findAll()) {
    if (!(source instanceof CfnEventSourceMapping)) continue;
    source.functionName = live.functionArn;
  }
}
