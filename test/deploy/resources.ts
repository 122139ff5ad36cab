// What the emulator has of a stack: names of everything that begins with the stage.

import { DynamoDBClient, paginateListTables } from '@aws-sdk/client-dynamodb';
import { IoTClient, ListPoliciesCommand, ListThingTypesCommand } from '@aws-sdk/client-iot';
import { paginateListQueues, SQSClient } from '@aws-sdk/client-sqs';
import { type Stage, stackStage } from './stage.ts';

const prefix = `${stackStage}-`;

/** Kinds of resources, each with the names of those that exist. */
export async function resourcesOf(stage: Stage): Promise<Readonly<Record<string, string[]>>> {
  const iot = new IoTClient();
  const { thingTypes = [] } = await iot.send(new ListThingTypesCommand({}));
  const { policies = [] } = await iot.send(new ListPoliciesCommand({}));
  iot.destroy();
  const { logGroups } = await stage.ask<{ logGroups: { logGroupName: string }[] }>(
    'logs',
    'Logs_20140328.DescribeLogGroups',
    { logGroupNamePrefix: `/aws/lambda/${prefix}` },
  );
  return {
    tables: await tables(),
    queues: await queues(),
    'thing types': thingTypes.flatMap(({ thingTypeName = '' }) => ours(thingTypeName)),
    policies: policies.flatMap(({ policyName = '' }) => ours(policyName)),
    'log groups': logGroups.map(({ logGroupName }) => logGroupName),
  };
}

/** The kinds of which something exists, as a line. */
export async function leftOf(stage: Stage): Promise<string> {
  const kinds = Object.entries(await resourcesOf(stage)).filter(([, names]) => names.length > 0);
  return kinds.map(([kind, names]) => `${names.length} ${kind}`).join(', ');
}

function ours(name: string): string[] {
  return name.startsWith(prefix) ? [name] : [];
}

async function tables(): Promise<string[]> {
  const client = new DynamoDBClient();
  const names: string[] = [];
  for await (const { TableNames = [] } of paginateListTables({ client }, {})) {
    names.push(...TableNames.flatMap(ours));
  }
  client.destroy();
  return names.sort();
}

async function queues(): Promise<string[]> {
  const client = new SQSClient();
  const urls: string[] = [];
  const names = { QueueNamePrefix: prefix, MaxResults: 1000 };
  for await (const { QueueUrls = [] } of paginateListQueues({ client }, names)) {
    urls.push(...QueueUrls);
  }
  client.destroy();
  return urls;
}
