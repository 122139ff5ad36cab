import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { imageBytesMax } from '#core/clients/staging.ts';
import { queues, streamConsumers } from '#core/contracts/queues/queues.ts';
import { sweepSeconds } from '#core/domain/host-work/deadlines.ts';
import { consumerNames, loadSettings } from '#core/settings.ts';
import { tables } from '#core/store/table/tables.ts';
import { routes } from '#functions/routes.ts';
import { access, type FunctionName } from '#infra/access.ts';
import { stage, synthesize } from '#infra/privileges/synthesized.ts';
import { announcedChanges, followedChanges } from '#infra/stack/stream-filters.ts';
import { tableInput } from '#local/aws/dynamodb/dynamodb.ts';
import { streamTimeoutSeconds } from '#local/lambda/consumers.ts';

const stack = synthesize();
/** Functions of our own; one more, of the CDK, runs during a deployment only. */
const functions = stack
  .ofType('AWS::Lambda::Function')
  .filter(({ properties }) => properties.FunctionName !== `${stage}-enable-job-events`);
const functionNames = Object.keys(access) as FunctionName[];

describe('tables', () => {
  it.each(tables)('$name has the keys and indexes of one machine', (row) => {
    const expected = tableInput(stage, row);
    const deployed = stack
      .ofType('AWS::DynamoDB::GlobalTable')
      .find(({ properties }) => properties.TableName === expected.TableName)?.properties;
    expect(deployed).toMatchObject({
      KeySchema: expected.KeySchema,
      BillingMode: 'PAY_PER_REQUEST',
      ...(expected.GlobalSecondaryIndexes && {
        GlobalSecondaryIndexes: expected.GlobalSecondaryIndexes,
      }),
    });
    expect('GlobalSecondaryIndexes' in deployed).toBe(row.indexes.length > 0);
    expect(deployed.StreamSpecification?.StreamViewType).toBe(
      row.hasStream ? 'NEW_AND_OLD_IMAGES' : undefined,
    );
    expect(deployed.AttributeDefinitions).toHaveLength(expected.AttributeDefinitions?.length ?? 0);
  });

  it('outlive the stack, and have point-in-time recovery, but for the history', () => {
    const seldomRead = tables.filter((row) => 'isSeldomRead' in row).map(({ name }) => name);
    for (const { properties, deletionPolicy } of stack.ofType('AWS::DynamoDB::GlobalTable')) {
      const isHistory = seldomRead.some((name) => properties.TableName === `${stage}-${name}`);
      expect(deletionPolicy).toBe('RetainExceptOnCreate');
      expect(properties.TimeToLiveSpecification).toMatchObject({ Enabled: true });
      for (const replica of properties.Replicas) {
        const { PointInTimeRecoverySpecification: recovery } = replica;
        // The rollback of a failed creation must be able to delete it.
        expect(replica.DeletionProtectionEnabled).toBeUndefined();
        expect(recovery?.PointInTimeRecoveryEnabled ?? false).toBe(!isHistory);
        expect(replica.TableClass === 'STANDARD_INFREQUENT_ACCESS').toBe(isHistory);
      }
    }
  });

  it('have recovery for the history, too, if the deployment says so', () => {
    for (const { properties } of synthesize({ backUpHistory: 'true' }).ofType(
      'AWS::DynamoDB::GlobalTable',
    )) {
      for (const { PointInTimeRecoverySpecification: recovery } of properties.Replicas) {
        expect(recovery?.PointInTimeRecoveryEnabled).toBe(true);
      }
    }
  });

  it('are deleted with the stack if the deployment says so', () => {
    const trial = synthesize({ keepData: 'false' });
    for (const { properties, deletionPolicy } of trial.ofType('AWS::DynamoDB::GlobalTable')) {
      expect(deletionPolicy).toBe('Delete');
      expect(properties.Replicas[0].DeletionProtectionEnabled).toBeUndefined();
    }
    expect(protectionsOf(trial)).toEqual([]);
  });

  const protectionsOf = ({ resources }: typeof stack) =>
    resources.filter(({ properties }) => properties.Create?.includes?.('UpdateTable'));

  it('are protected from deletion when all else exists, until the stack is removed', () => {
    const calls = protectionsOf(stack).map(({ properties: { Create, Update, Delete } }) =>
      [Create, Update, Delete].map((call) => {
        const { action, parameters } = JSON.parse(call);
        return [action, parameters.TableName, parameters.DeletionProtectionEnabled];
      }),
    );
    const expected = tables.map(({ name }) => {
      const table = `${stage}-${name}`;
      return [true, true, false].map((isProtected) => ['UpdateTable', table, isProtected]);
    });
    expect(calls.sort()).toEqual(expected.sort());
    // Another release repeats the calls.
    for (const { properties } of protectionsOf(stack)) {
      expect(properties.Release).toMatch(/CurrentVersion.*\.Version$/);
    }
    const functionIds = functions.map(({ id }) => id);
    for (const { dependsOn } of protectionsOf(stack)) {
      expect(functionIds.filter((id) => !dependsOn.includes(id))).toEqual([]);
    }
  });
});

describe('queues', () => {
  const all = stack.ofType('AWS::SQS::Queue').map(({ properties }) => properties);
  const named = (name: string) => all.find(({ QueueName }) => QueueName === `${stage}-${name}`);

  it('have a dead-letter queue each, in which messages stay as long as SQS can keep them', () => {
    for (const { name, receiveCountMax } of queues) {
      expect(named(name).RedrivePolicy).toEqual({
        deadLetterTargetArn: expect.stringMatching(`:${stage}-${name}-dead$`),
        maxReceiveCount: receiveCountMax,
      });
      expect(named(`${name}-dead`).MessageRetentionPeriod).toBe(14 * 24 * 3600);
      expect(named(name).MessageRetentionPeriod).toBeLessThan(14 * 24 * 3600);
    }
  });

  it('are encrypted, and refuse plain HTTP', () => {
    const guarded = stack.ofType('AWS::SQS::QueuePolicy').flatMap(({ properties }) => {
      const [statement] = properties.PolicyDocument.Statement;
      expect(statement).toMatchObject({
        Effect: 'Deny',
        Condition: { Bool: { 'aws:SecureTransport': 'false' } },
      });
      return properties.Queues;
    });
    expect(guarded).toHaveLength(all.length);
    for (const queue of all) expect(queue.SqsManagedSseEnabled).toBe(true);
  });

  it.each(queues)('$name invokes its consumer as its row says', (row) => {
    expect(named(row.name).VisibilityTimeout).toBe(row.visibilitySeconds);
    expect(sourcesOf(row.name)).toMatchObject([
      {
        EventSourceArn: expect.stringMatching(`:${stage}-${row.name}$`),
        BatchSize: row.batchSize,
        ScalingConfig: { MaximumConcurrency: row.concurrencyMax },
        FunctionResponseTypes: ['ReportBatchItemFailures'],
      },
    ]);
    const { Timeout } = stack.functionNamed(row.name).properties;
    expect(Timeout).toBe(row.timeoutSeconds);
    // Lambda refuses a source whose messages become visible again while they are worked on.
    expect(row.visibilitySeconds).toBeGreaterThanOrEqual(Timeout);
  });
});

it('messages stay hidden for six timeouts of their consumer, except where a caller waits', () => {
  // Lambda recommends this for few deliveries; those below have many, see
  // core/contracts/queues/queues.ts.
  const sooner = queues.filter((row) => row.visibilitySeconds < 6 * row.timeoutSeconds);
  expect(sooner.map(({ name }) => name)).toEqual(['nova-events', 'host-jobs', 'job-events']);
  for (const row of sooner) expect(row.receiveCountMax).toBeGreaterThanOrEqual(60);
});

describe('the staging bucket', () => {
  const [bucket] = stack.ofType('AWS::S3::Bucket');

  it('is private, encrypted, refuses plain HTTP, and deletes old objects', () => {
    expect(stack.ofType('AWS::S3::Bucket')).toHaveLength(1);
    expect(bucket?.deletionPolicy).toBe('RetainExceptOnCreate');
    expect(bucket?.properties).toMatchObject({
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      LifecycleConfiguration: { Rules: [{ ExpirationInDays: 7, Status: 'Enabled' }] },
    });
    expect(bucket?.properties.BucketEncryption).toBeDefined();
    const [policy] = stack.ofType('AWS::S3::BucketPolicy');
    expect(policy?.properties.PolicyDocument.Statement).toMatchObject([
      { Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } },
    ]);
  });

  it('is accessible to the function that stages images only', () => {
    const touching = functionNames.filter((name) =>
      stack.allowedTo(name).some(({ actions }) => actions.some((each) => each.startsWith('s3:'))),
    );
    expect(touching).toEqual(['host-jobs']);
    const { EphemeralStorage } = stack.functionNamed('host-jobs').properties;
    expect(EphemeralStorage.Size * 1024 ** 2).toBeGreaterThan(imageBytesMax);
  });

  it('has the name that the deployment gives it', () => {
    const named = synthesize({ stagingBucket: 'our-images' }).ofType('AWS::S3::Bucket');
    expect(named[0]?.properties.BucketName).toBe('our-images');
  });
});

describe('streams', () => {
  const patterns = { changes: followedChanges, announcements: announcedChanges };
  const readers = streamConsumers.map((name) => ({
    name,
    sources: sourcesOf(name),
    streamed: tables
      .filter((row) => row.hasStream && patterns[name][row.name].length > 0)
      .map((row) => `${stage}-${row.name}`),
  }));

  it.each(readers)(
    'are read by $name as the table of tables says, from the first record on',
    ({ sources, streamed }) => {
      expect(sources.map((source) => source.EventSourceArn)).toEqual(
        streamed.map((name) => `stream of ${name}`),
      );
      for (const source of sources) expect(source.StartingPosition).toBe('TRIM_HORIZON');
    },
  );

  it.each(readers)(
    'lose no record for $name: a batch is retried until it expires, and then is dead-lettered',
    ({ name, sources }) => {
      for (const source of sources) {
        expect(source).toMatchObject({
          MaximumRetryAttempts: -1,
          BisectBatchOnFunctionError: true,
          FunctionResponseTypes: ['ReportBatchItemFailures'],
        });
        expect(source.MaximumRecordAgeInSeconds).toBeUndefined();
        expect(source.DestinationConfig.OnFailure.Destination).toMatch(
          new RegExp(`:test-${name}-dead$`),
        );
      }
    },
  );

  it('have the time limits of one machine', () => {
    for (const { name } of readers) {
      expect(stack.functionNamed(name).properties.Timeout).toBe(streamTimeoutSeconds);
    }
  });
});

describe('functions', () => {
  it('are one per resource, per queue, per reader of the streams, the sweep, and the check', () => {
    const expected = [
      ...new Set(routes.map((row) => row.resource)),
      ...queues.map((row) => row.name),
      ...streamConsumers,
      'sweep',
      'release-check',
    ];
    expect(functions.map(({ properties }) => properties.FunctionName).sort()).toEqual(
      expected.map((name) => `${stage}-${name}`).sort(),
    );
  });

  it('have an entry point each', () => {
    const resources = new Set<string>(routes.map((row) => row.resource));
    for (const name of functionNames) {
      const entry = resources.has(name) ? `${name}/handler.ts` : `consumers/${name}.ts`;
      expect(existsSync(new URL(`../../functions/${entry}`, import.meta.url)), entry).toBe(true);
    }
  });

  it('run on arm64, on the newest Node', () => {
    for (const { properties } of functions) {
      expect(properties).toMatchObject({ Architectures: ['arm64'], Runtime: 'nodejs24.x' });
    }
  });

  it('have an environment that they accept, and the stage of their tables', () => {
    for (const { properties } of functions) {
      expect(loadSettings(properties.Environment.Variables).stage).toBe(stage);
    }
  });

  it('know the queues that they use, and no others', () => {
    for (const name of functionNames) {
      const { queueUrls } = loadSettings(
        stack.functionNamed(name).properties.Environment.Variables,
      );
      const used = queues.filter(
        (row) => row.name === name || access[name].sendsTo?.includes(row.name),
      );
      expect(queueUrls).toEqual(
        Object.fromEntries(
          queues.map((row) => [
            row.name,
            used.includes(row) ? `https://sqs/000000000000/${stage}-${row.name}` : '',
          ]),
        ),
      );
    }
  });

  it('have dead-letter queues of their own for unreadable records', () => {
    for (const name of functionNames) {
      const variables = stack.functionNamed(name).properties.Environment.Variables;
      const known = Object.entries(loadSettings(variables).deadQueueUrls).filter(([, url]) => url);
      const queue = `test-${name}-dead`;
      expect(known).toEqual(
        consumerNames.some((each) => each === name)
          ? [[name, `https://sqs/000000000000/${queue}`]]
          : [],
      );
      const mayKeep = stack.allowedTo(name).some(({ actions, resources }) => {
        return actions.includes('sqs:SendMessage') && resources.some((arn) => arn.endsWith(queue));
      });
      expect(mayKeep, name).toBe(known.length > 0);
    }
  });

  it('get the name of the password, and only if they call OpenStack', () => {
    for (const name of functionNames) {
      const { Variables } = stack.functionNamed(name).properties.Environment;
      const secret = access[name].callsOpenStack ? 'cyborg/keystone-password' : undefined;
      expect(Variables.CYBORG_OS_PASSWORD_SECRET).toBe(secret);
      expect(Variables.CYBORG_OS_PASSWORD).toBe('');
    }
  });
});

describe('the event bus', () => {
  it('is written to by the announcements alone, at first or from their queue', () => {
    const announcing = functionNames.filter((name) =>
      stack.allowedTo(name).some(({ actions }) => actions.includes('events:PutEvents')),
    );
    expect(announcing).toEqual(['announcements', 'late-events']);
    const [allowed] = stack
      .allowedTo('announcements')
      .filter(({ actions }) => actions.includes('events:PutEvents'));
    const [bus] = stack.ofType('AWS::Events::EventBus');
    expect(allowed?.resources).toEqual([
      `arn:aws:events:us-east-1:000000000000:event-bus/${bus?.properties.Name}`,
    ]);
  });
});

describe('the sweep', () => {
  it('runs as often as on one machine', () => {
    const [schedule] = stack.ofType('AWS::Scheduler::Schedule');
    expect(sweepSeconds).toBe(60);
    expect(schedule?.properties).toMatchObject({
      Name: `${stage}-sweep`,
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Target: { Arn: expect.stringMatching(/function:test-sweep$/) },
    });
  });
});

describe('names', () => {
  it.each([
    ['AWS::DynamoDB::GlobalTable', 'TableName'],
    ['AWS::SQS::Queue', 'QueueName'],
    ['AWS::Lambda::Function', 'FunctionName'],
    ['AWS::Logs::LogGroup', 'LogGroupName'],
    ['AWS::ApiGatewayV2::Api', 'Name'],
    ['AWS::Scheduler::Schedule', 'Name'],
    ['AWS::Events::EventBus', 'Name'],
    ['AWS::IoT::TopicRule', 'RuleName'],
    ['AWS::IoT::ThingType', 'ThingTypeName'],
    ['AWS::IoT::Policy', 'PolicyName'],
  ])('of %s carry the stage, so that two stages fit into one account', (type, key) => {
    const names = stack.ofType(type).map(({ properties }) => properties[key]);
    expect(names).not.toHaveLength(0);
    for (const name of names) expect(name).toMatch(/^(\/aws\/(lambda|vendedlogs)\/)?test[-_]/);
  });
});

function sourcesOf(functionName: string) {
  const { FunctionName } = stack.functionNamed(functionName).properties;
  return stack
    .ofType('AWS::Lambda::EventSourceMapping')
    .map(({ properties }) => properties)
    .filter((properties) =>
      // The function, or its alias.
      [FunctionName, `${FunctionName}:live`].includes(
        String(properties.FunctionName).split(':function:').at(-1),
      ),
    );
}
