// What an endpoint has: each service gets a harmless request.

import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient, ListStreamsCommand } from '@aws-sdk/client-dynamodb-streams';
import { DescribeJobCommand, IoTClient } from '@aws-sdk/client-iot';
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { type Service, services } from './suite.ts';

/** "Not found" is an answer, too: the service is there. */
const absent = ['ResourceNotFoundException', 'NoSuchKey', 'NoSuchBucket'];

/** The missing services, each with the answer that it gave. */
export async function missingAt(endpoint: string): Promise<Map<Service, string>> {
  const config = { endpoint, maxAttempts: 1 };
  const none = 'cyborg-probe-none-by-this-name';
  const probes: Readonly<Record<Service, () => Promise<unknown>>> = {
    dynamodb: () => new DynamoDBClient(config).send(new ListTablesCommand({})),
    'dynamodb-streams': () => new DynamoDBStreamsClient(config).send(new ListStreamsCommand({})),
    sqs: () => new SQSClient(config).send(new ListQueuesCommand({})),
    s3: () =>
      new S3Client({ ...config, forcePathStyle: true }).send(
        new GetObjectCommand({ Bucket: none, Key: none }),
      ),
    's3-signatures': () => refusesUnsigned(`${endpoint}/${none}/${none}`),
    iot: () => new IoTClient(config).send(new DescribeJobCommand({ jobId: none })),
  };
  const missing = new Map<Service, string>();
  for (const service of services) {
    await probes[service]().catch((error: Error) => {
      if (!absent.includes(error.name)) missing.set(service, error.message.split('\n')[0] ?? '');
    });
  }
  return missing;
}

/** @throws Error if S3 looks for the object of a request without a signature */
async function refusesUnsigned(url: string): Promise<void> {
  const { status } = await fetch(url);
  if (status !== 403) throw new Error(`answers ${status}, not 403, to a request without one`);
}
