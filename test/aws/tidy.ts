// Removes what a run has left at an endpoint: everything with its name.

import { DeleteTableCommand, DynamoDBClient, paginateListTables } from '@aws-sdk/client-dynamodb';
import {
  DeleteBucketCommand,
  DeleteObjectCommand,
  ListBucketsCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3';
import { DeleteQueueCommand, paginateListQueues, SQSClient } from '@aws-sdk/client-sqs';
import type { Service } from './suite.ts';

/** Returns how many of each were removed. @param run prefix of their names */
export async function tidy(
  endpoint: string,
  run: string,
  missing: ReadonlyMap<Service, string>,
): Promise<Readonly<Record<string, number>>> {
  const removed = { tables: 0, queues: 0, buckets: 0 };
  if (!missing.has('dynamodb')) {
    const client = new DynamoDBClient({ endpoint });
    for await (const { TableNames = [] } of paginateListTables({ client }, {})) {
      for (const TableName of TableNames.filter((name) => name.startsWith(`${run}-`))) {
        await client.send(new DeleteTableCommand({ TableName }));
        removed.tables += 1;
      }
    }
  }
  if (!missing.has('sqs')) {
    const client = new SQSClient({ endpoint });
    const names = { QueueNamePrefix: `${run}-`, MaxResults: 1000 };
    const urls: string[] = [];
    for await (const { QueueUrls = [] } of paginateListQueues({ client }, names)) {
      urls.push(...QueueUrls);
    }
    for (const QueueUrl of urls) await client.send(new DeleteQueueCommand({ QueueUrl }));
    removed.queues = urls.length;
  }
  if (!missing.has('s3')) removed.buckets = await removeBuckets(endpoint, run);
  return removed;
}

async function removeBuckets(endpoint: string, run: string): Promise<number> {
  const client = new S3Client({ endpoint, forcePathStyle: true });
  const { Buckets = [] } = await client.send(new ListBucketsCommand({})).catch((error: Error) => {
    // The local IoT endpoint takes every path for an object of S3.
    if (error.name === 'NoSuchKey') return { Buckets: [] };
    throw error;
  });
  const own = Buckets.flatMap(({ Name }) => (Name?.startsWith(`${run}-`) ? [Name] : []));
  for (const Bucket of own) {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
    for (const { Key } of Contents) await client.send(new DeleteObjectCommand({ Bucket, Key }));
    await client.send(new DeleteBucketCommand({ Bucket }));
  }
  return own.length;
}
