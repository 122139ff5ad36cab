// The AWS that `npm run test:aws` starts itself, each behind one endpoint: the local engines, the
// same with engines of others in place of some, and ministack.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDynamoDb } from '#local/aws/dynamodb/dynamodb.ts';
import { startQueues } from '#local/aws/queues.ts';
import { startS3 } from '#local/aws/s3.ts';
import type { Running } from '#local/ports.ts';
import { startDynamoDbLocal } from '#test/emulators/dynamodb-local.ts';
import { startLocalStack } from '#test/emulators/localstack.ts';
import { startMinistack } from '#test/emulators/ministack.ts';
import { startIotCore } from '#test/support/aws/iot-core.ts';
import { startFrontDoor } from './front-door.ts';
import { type Service, services } from './suite.ts';

export interface AwsEngine extends Running {
  readonly name: string;
  readonly url: string;
}

/** Keys are names for `--engine`. Each throws CannotRun where it cannot be installed. */
export const engines: Readonly<Record<string, () => Promise<AwsEngine>>> = {
  'dynamodb-local': () => withOthers(startDynamoDbLocal, ['dynamodb', 'dynamodb-streams']),
  localstack: () => withOthers(startLocalStack, ['sqs', 's3']),
  ministack: () => inFolder(startMinistack),
};

/** @param foreign in place of ours; it is stopped with the others */
export async function startLocal(
  without: readonly string[],
  foreign?: { readonly engine: AwsEngine; readonly services: readonly Service[] },
): Promise<AwsEngine> {
  const unknown = without.filter((name) => !services.includes(name as Service));
  if (unknown.length > 0)
    throw new Error(`Unknown service ${unknown.join(', ')}: must be of ${services.join(', ')}`);
  const directory = mkdtempSync(join(tmpdir(), 'aws-'));
  const place = { host: '127.0.0.1', port: 0, directory };
  const startUnlessForeign = async (service: Service, start: () => Promise<Engine>) =>
    foreign?.services.includes(service) ? foreign.engine : start();
  const iot = await startIotCore('local');
  const [tables, sqs, s3] = await Promise.all([
    startUnlessForeign('dynamodb', startDynamoDb),
    startUnlessForeign('sqs', startQueues),
    startUnlessForeign('s3', () => startS3(place)),
  ]);
  const all = {
    dynamodb: tables.url,
    'dynamodb-streams': tables.url,
    sqs: sqs.url,
    s3: s3.url,
    iot: iot.url,
  };
  const behind = Object.entries(all).filter(([service]) => !without.includes(service));
  const door = await startFrontDoor(Object.fromEntries(behind));
  return {
    name: `our engines at ${door.url}`,
    url: door.url,
    stop: async () => {
      for (const part of new Set([door, s3, sqs, tables, iot])) await part.stop();
      rmSync(directory, { recursive: true });
    },
  };
}

type Engine = Running & { readonly url: string };

/** An engine of others for some services, and ours for the rest. */
function withOthers(
  start: (directory: string) => Promise<AwsEngine>,
  foreign: readonly Service[],
): Promise<AwsEngine> {
  return inFolder(async (directory) => {
    const engine = await start(directory);
    const local = await startLocal([], { engine, services: foreign });
    return { ...local, name: `${engine.name}, and our other engines` };
  });
}

/** The engine's logs go with it. */
async function inFolder(start: (directory: string) => Promise<AwsEngine>): Promise<AwsEngine> {
  const directory = mkdtempSync(join(tmpdir(), 'aws-engine-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  try {
    const engine = await start(directory);
    return {
      ...engine,
      stop: async () => {
        await engine.stop();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}
