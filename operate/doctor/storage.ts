// Checks the tables, the queues and the bucket of the stage.

import { DescribeContinuousBackupsCommand, DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { GetQueueAttributesCommand, GetQueueUrlCommand } from '@aws-sdk/client-sqs';
import { CheckFailed, Undetermined } from '#core/command-line/checks.ts';
import { deadLetterQueueName, queueName, queues } from '#core/contracts/queues/queues.ts';
import { tableName, tables } from '#core/store/table/tables.ts';
import type { Check, CheckContext } from './check.ts';

const deployAgain =
  'Deploy the stack again; if a table is missing, see docs/operations/restore.md.';

const tableChecks = tables.flatMap((row): Check[] => [
  {
    name: `table ${row.name}`,
    remedy: deployAgain,
    look: async ({ deps, aws }) => {
      const name = tableName(deps.settings.stage, row.name);
      const { Table } = await aws.dynamoDb.send(new DescribeTableCommand({ TableName: name }));
      const { KMSMasterKeyArn: key, InaccessibleEncryptionDateTime: since } =
        Table?.SSEDescription ?? {};
      if (since) {
        throw new CheckFailed(
          `${name} cannot be read since ${since.toISOString()}, because DynamoDB cannot use its key ${key}.`,
          `aws kms enable-key --key-id ${key}    # docs/encryption.md has the other causes`,
        );
      }
      const faults: string[] = [];
      if (Table?.TableStatus !== 'ACTIVE') faults.push(`is ${Table?.TableStatus}`);
      const stream = Table?.StreamSpecification?.StreamViewType;
      if (row.hasStream && stream !== 'NEW_AND_OLD_IMAGES') {
        faults.push(`has ${stream ?? 'no stream'}, but needs a stream of both images`);
      }
      for (const { name: index } of row.indexes) {
        const stored = Table?.GlobalSecondaryIndexes?.find((each) => each.IndexName === index);
        if (stored === undefined) faults.push(`lacks index ${index}`);
        else if (stored.IndexStatus && stored.IndexStatus !== 'ACTIVE') {
          faults.push(`has index ${index} ${stored.IndexStatus}`);
        }
      }
      if (faults.length > 0) throw new CheckFailed(`${name} ${faults.join(', ')}.`, deployAgain);
      return name;
    },
  },
  {
    name: `table ${row.name} can be restored`,
    remedy: deployAgain,
    look: async ({ deps, aws }) => {
      const TableName = tableName(deps.settings.stage, row.name);
      const { ContinuousBackupsDescription: backups } = await aws.dynamoDb.send(
        new DescribeContinuousBackupsCommand({ TableName }),
      );
      const status = backups?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus;
      if (status !== 'ENABLED') {
        throw new CheckFailed(`Point-in-time recovery is ${status ?? 'off'}.`, deployAgain);
      }
      return 'to any second of the last days';
    },
  },
]);

const queueChecks = queues.map(
  (row): Check => ({
    name: `queue ${row.name}`,
    remedy: 'Deploy the stack again.',
    look: async (patient) => {
      const { stage } = patient.deps.settings;
      const dead = deadLetterQueueName(stage, row.name);
      const attributes = await readAttributes(patient, queueName(stage, row.name));
      const { deadLetterTargetArn = '' } = JSON.parse(attributes.RedrivePolicy ?? '{}');
      if (!String(deadLetterTargetArn).endsWith(`:${dead}`)) {
        throw new CheckFailed(`The queue has no redrive policy to ${dead}.`, 'Deploy again.');
      }
      const count = Number((await readAttributes(patient, dead)).ApproximateNumberOfMessages);
      if (count > 0) {
        const remedy = `See ${row.name}-dead in docs/operations.md.`;
        throw new CheckFailed(`${dead} holds ${count} messages.`, remedy);
      }
      return `${attributes.ApproximateNumberOfMessages} waiting, no dead letters`;
    },
  }),
);

/** Dead-letter queues that belong to no queue: of expired stream records, and of IoT rules. */
const otherDeadQueues = ['changes-dead', 'rules-dead'].map(
  (name): Check => ({
    name: `queue ${name}`,
    remedy: 'Deploy the stack again.',
    look: async (patient) => {
      if (process.env.AWS_ENDPOINT_URL_SQS ?? process.env.AWS_ENDPOINT_URL) {
        throw new Undetermined('exists on AWS only');
      }
      const full = `${patient.deps.settings.stage}-${name}`;
      const count = Number((await readAttributes(patient, full)).ApproximateNumberOfMessages);
      if (count === 0) return 'empty';
      throw new CheckFailed(
        `${full} holds ${count} messages.`,
        `See ${name} in docs/operations.md.`,
      );
    },
  }),
);

const bucketCheck: Check = {
  name: 'the staging bucket',
  remedy: 'Deploy the stack again; an image can be programmed only through it.',
  look: async ({ deps, aws }) => {
    const { bucket } = deps.settings.staging;
    // Without the permission to list, S3 answers 403 for a missing object: NoSuchKey proves
    // access.
    const command = new GetObjectCommand({ Bucket: bucket, Key: 'images/none-by-this-name' });
    await aws.s3.send(command).catch((error: Error) => {
      if (error.name !== 'NoSuchKey') throw error;
    });
    return bucket;
  },
};

export const storageChecks: readonly Check[] = [
  ...tableChecks,
  ...queueChecks,
  ...otherDeadQueues,
  bucketCheck,
];

async function readAttributes(
  { aws }: CheckContext,
  QueueName: string,
): Promise<Partial<Record<string, string>>> {
  const { QueueUrl } = await aws.sqs.send(new GetQueueUrlCommand({ QueueName }));
  const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] });
  return (await aws.sqs.send(command)).Attributes ?? {};
}
