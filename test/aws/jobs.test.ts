// Our client of AWS IoT Jobs against the local emulation or, under `npm run test:aws`, an
// endpoint.

import { randomBytes } from 'node:crypto';
import {
  CreateThingCommand,
  DeleteJobCommand,
  DeleteThingCommand,
  DescribeThingCommand,
  IoTClient,
} from '@aws-sdk/client-iot';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createIotJobs } from '#core/clients/aws/iot-jobs.ts';
import { jobId } from '#core/contracts/jobs/job-ids.ts';
import { thingName } from '#core/contracts/topics.ts';
import { derivedUuid } from '#core/domain/ids.ts';
import { endpointVariable, stage } from '#test/support/aws/engines.ts';
import { type IotCore, startIotCore } from '#test/support/aws/iot-core.ts';
import { eventually } from '#test/support/vitest/eventually.ts';

const host = 'cmp1.example';
const thing = thingName(stage, host);
const id = jobId(stage, 'rediscover', derivedUuid('job', randomBytes(8).toString('hex')));
const document = { version: 1, action: 'rediscover', host, boot_id: derivedUuid('boot') } as const;

let own: IotCore | undefined;
let client: IoTClient;
let thingArnPrefix: string;

beforeAll(async () => {
  const endpoint = process.env[endpointVariable];
  if (endpoint === undefined) own = await startIotCore(stage);
  client = own?.client() ?? new IoTClient(endpoint ? { endpoint } : {});
  await client.send(new CreateThingCommand({ thingName: thing }));
  const { thingArn = '' } = await client.send(new CreateThingCommand({ thingName: thing }));
  thingArnPrefix = thingArn.slice(0, -thing.length);
});
afterAll(async () => {
  await client.send(new DeleteJobCommand({ jobId: id, force: true }));
  await client.send(new DeleteThingCommand({ thingName: thing }));
  client.destroy();
  await own?.stop();
});

it('makes a job once, reads its state, and cancels it', async () => {
  const jobs = createIotJobs({ stage, thingArnPrefix, client });
  expect(await jobs.executionStatus(id, host)).toBeUndefined();
  await jobs.create(id, document);
  await jobs.create(id, document);
  await eventually(() => jobs.executionStatus(id, host)).toBe('QUEUED');
  await jobs.cancel(id, 'the test is over');
  await eventually(() => jobs.executionStatus(id, host)).not.toBe('QUEUED');
  await jobs.cancel(jobId(stage, 'rediscover', derivedUuid('no such job')), 'there is none');
});

it('finds the thing of a job', async () => {
  const { thingName: found } = await client.send(new DescribeThingCommand({ thingName: thing }));
  expect(found).toBe(thing);
});
