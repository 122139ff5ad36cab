// The AWS of a test file: engines of its own on free ports or, under `npm run test:aws`, another
// endpoint, with a stage that only this file uses.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BucketLocationConstraint, CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { startDynamoDb } from '#local/aws/dynamodb/dynamodb.ts';
import { startQueues } from '#local/aws/queues.ts';
import { startS3 } from '#local/aws/s3.ts';

/** Set by test/aws/main.ts. */
export const endpointVariable = 'TEST_AWS_ENDPOINT';
/** The prefix of all stages of one run; the rest is random per file. */
export const runVariable = 'TEST_AWS_RUN';

/** Services that the endpoint lacks, separated by commas. */
export const lacksVariable = 'TEST_AWS_LACKS';

const endpoint = process.env[endpointVariable];

/** The stage of the latest engines: at another endpoint each have their own names. */
export let stage = endpoint === undefined ? 'test' : nextStage();
let started = 0;

function nextStage(): string {
  return `${process.env[runVariable] ?? 'run'}-${randomBytes(3).toString('hex')}`;
}

/** Whether the endpoint lacks a service of test/aws/suite.ts. */
export function lacks(service: string): boolean {
  return (process.env[lacksVariable] ?? '').split(',').includes(service);
}

export interface Engines {
  readonly dynamoDb: string;
  readonly sqs: string;
  readonly s3: string;
  /** Variables that replace those of the local engines. */
  readonly variables: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const loopback = { host: '127.0.0.1', port: 0 };

export async function startEngines(): Promise<Engines> {
  if (endpoint !== undefined) return useEndpoint(endpoint);
  const directory = mkdtempSync(join(tmpdir(), 'cyborg-s3-'));
  const [dynamoDb, sqs, s3] = await Promise.all([
    startDynamoDb(),
    startQueues(),
    startS3({ ...loopback, directory }),
  ]);
  return {
    dynamoDb: dynamoDb.url,
    sqs: sqs.url,
    s3: s3.url,
    variables: {},
    stop: async () => {
      for (const engine of [s3, sqs, dynamoDb]) await engine.stop();
      rmSync(directory, { recursive: true });
    },
  };
}

/** test/aws/tidy.ts removes the tables, queues and buckets after all files have ended. */
async function useEndpoint(url: string): Promise<Engines> {
  // The world before has left its rows, since its tables are removed when all files have ended.
  if (started > 0) stage = nextStage();
  started += 1;
  const own = ['AWS_REGION', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'];
  const variables = Object.fromEntries(
    own.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
  );
  if (!lacks('s3')) await createBucket(url);
  return { dynamoDb: url, sqs: url, s3: url, variables, stop: async () => {} };
}

async function createBucket(url: string): Promise<void> {
  const client = new S3Client({ endpoint: url, forcePathStyle: true });
  const region = process.env.AWS_REGION ?? 'us-east-1';
  await client.send(
    new CreateBucketCommand({
      Bucket: `${stage}-cyborg-staging`,
      // us-east-1 is the one region that must not be named.
      ...(region !== 'us-east-1' && {
        CreateBucketConfiguration: { LocationConstraint: region as BucketLocationConstraint },
      }),
    }),
  );
  client.destroy();
}
