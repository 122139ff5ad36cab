// Requests of devices: which are accepted, from whom, and where the answer goes.

import { describe, expect, it } from 'vitest';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perTest } from '#test/support/vitest/shared.ts';
import { startJobsSystem, startSeconds, thingArn } from './jobs-system.ts';

const system = perTest(startJobsSystem);

describe('an invalid request', () => {
  const update = { status: 'IN_PROGRESS' };

  it.each([
    ['to an unknown topic', 'job1/finish', {}, 'InvalidTopic'],
    ['to a topic of the service', 'notify', { jobs: {} }, 'InvalidTopic'],
    ['with an invalid id', 'job.1/get', {}, 'InvalidTopic'],
    ['for an unknown job', 'job2/update', update, 'ResourceNotFound'],
    ['for an unknown execution', 'job1/get', { executionNumber: 2 }, 'ResourceNotFound'],
    ['without a status', 'job1/update', {}, 'InvalidRequest'],
    ['for a status of the service', 'job1/update', { status: 'TIMED_OUT' }, 'InvalidRequest'],
    [
      'with an empty detail',
      'job1/update',
      { ...update, statusDetails: { a: '' } },
      'InvalidRequest',
    ],
    [
      'with a line end in a detail',
      'job1/update',
      { ...update, statusDetails: { reason: 'one\ntwo' } },
      'InvalidRequest',
    ],
    [
      'with a detail of 1,025 characters',
      'job1/update',
      { ...update, statusDetails: { reason: 'x'.repeat(1025) } },
      'InvalidRequest',
    ],
    [
      'with eleven details',
      'job1/update',
      { ...update, statusDetails: Object.fromEntries([...'abcdefghijk'].map((k) => [k, 'v'])) },
      'InvalidRequest',
    ],
    ['with a step of no time', 'start-next', { stepTimeoutInMinutes: 0 }, 'InvalidRequest'],
  ])('%s is rejected with its code', async (_what, name, request, code) => {
    const device = await system.connect('node-1');
    await system.create('job1');
    const { topic, body } = await device.ask(name, request);
    expect(topic).toBe(`$aws/things/node-1/jobs/${name}/rejected`);
    expect(body).toMatchObject({ code, message: expect.any(String), timestamp: startSeconds });
    expect(await system.execution('job1')).toMatchObject({ status: 'QUEUED', versionNumber: 1 });
  });

  it.each([
    ['is not valid JSON', '{"clientToken":'],
    ['is not an object', '[1, 2]'],
    ['is not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['is empty', ''],
  ])('whose payload %s is rejected as InvalidJson', async (_what, payload) => {
    const device = await system.connect('node-1');
    await device.publish('get', payload);
    await eventually(() => device.on('get/rejected')).toMatchObject([{ code: 'InvalidJson' }]);
  });
});

it('is answered only to the device that asked', async () => {
  const one = await system.connect('node-1', { subscribe: ['#'] });
  const other = await system.connect('node-2', { subscribe: ['#'] });
  await system.create('job1', { targets: [thingArn('node-1'), thingArn('node-2')] });
  await Promise.all([one.ask('job1/get'), other.ask('job1/get'), one.ask('get')]);
  await one.ask('job1/update', { status: 'SUCCEEDED' });

  const prefix = (thing: string) => `$aws/things/${thing}/jobs/`;
  expect(one.messages.every(({ topic }) => topic.startsWith(prefix('node-1')))).toBe(true);
  expect(other.messages.every(({ topic }) => topic.startsWith(prefix('node-2')))).toBe(true);
  // A device that subscribes to everything does not get its own request.
  await eventually(() => one.on('notify-next')).toHaveLength(2);
  expect(one.on('get')).toEqual([]);
  expect(one.on('job1/update')).toEqual([]);
  expect(one.on('job1/update/accepted')).toHaveLength(1);
  expect(other.on('notify')).toHaveLength(1);
  // The rules do not get the requests either.
  const seen = system.delivered.map(({ topic }) => topic);
  expect(seen.filter((topic) => topic.startsWith('$aws/things/'))).toEqual([]);
});

it('does not return to its sender, not even from a persistent session', async () => {
  const device = await system.connect('node-1', { subscribe: ['#'], clean: false });
  await device.ask('get');
  await device.client.endAsync();
  const again = await system.connect('node-1', { subscribe: [], clean: false });
  await system.create('job1');
  await eventually(() => again.on('notify-next')).toHaveLength(1);
  expect([...device.on('get'), ...again.on('get')]).toEqual([]);
});

it('is answered even if the client has not subscribed to answers', async () => {
  const device = await system.connect('node-1', { subscribe: [] });
  const { topic } = await device.ask('get');
  expect(topic).toBe('$aws/things/node-1/jobs/get/accepted');
});

it('is refused for the jobs of another thing', async () => {
  await system.create('job1');
  const other = await system.connect('node-2', { reconnectPeriod: 0 });
  const closed = new Promise<void>((resolve) => other.client.once('close', () => resolve()));
  const foreign = '$aws/things/node-1/jobs/job1/update';
  other.client.publish(foreign, JSON.stringify({ status: 'SUCCEEDED' }), { qos: 1 });
  await closed;
  expect(await system.execution('job1')).toMatchObject({ status: 'QUEUED' });

  // On its own topics the thing reaches its own executions only, and has none of this job.
  const again = await system.connect('node-2');
  const { body } = await again.ask('job1/update', { status: 'SUCCEEDED' });
  expect(body).toMatchObject({ code: 'ResourceNotFound' });
});

it('is answered in order among many requests', async () => {
  const device = await system.connect('node-1');
  await system.create('job1');
  const versions = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const request = { status: 'IN_PROGRESS', includeJobExecutionState: true };
      return (await device.ask('job1/update', request)).body.executionState?.versionNumber ?? 0;
    }),
  );
  expect(versions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, at) => at + 2));
  const told = device.on('job1/update/accepted');
  const order = told.map(({ executionState }) => executionState?.versionNumber ?? 0);
  expect(order).toEqual(order.toSorted((a, b) => a - b));
});
