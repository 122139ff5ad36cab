// A bind for which the host only checks what its region holds: it is asked by a message, and the
// sweep has a job created if no answer comes.

import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { WorkMessage } from '#core/contracts/jobs/work-message.ts';
import type { HostJobMessage } from '#core/contracts/queues/queue-messages.ts';
import type { BindId } from '#core/domain/ids.ts';
import { startBind } from '#core/operations/bind/start-bind.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { withClients } from '#test/support/deps.ts';
import { aGbs } from '#test/support/hosts/gbs.ts';
import { loadedId, startFpgaHost } from '#test/support/hosts/recorded/fpga-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const cmp1 = perFile(startFpgaHost);
let sent: WorkMessage[];
let queued: HostJobMessage[];

beforeAll(async () => {
  const { inventory } = cmp1.world.deps.store;
  await cmp1.bootAfresh();
  const { host } = await inventory.host('cmp1');
  const presence = { isConnected: true, version: 1, at: new Date().toISOString() };
  await inventory.putPresence('cmp1', presence, host.presence);
});

beforeEach(async () => {
  await cmp1.bootAfresh();
  await cmp1.boot({ bitstream: loadedId });
  [sent, queued] = [[], []];
  cmp1.deps = {
    ...withClients(cmp1.deps, {
      hostMessages: {
        send: async (_host, message) => void ('job_id' in message && sent.push(message)),
      },
    }),
    queues: { send: async (_queue, messages) => void queued.push(...(messages as never[])) },
  };
});

async function started(): Promise<string> {
  const { instance } = await cmp1.started({ 'accel:bitstream_id': loadedId });
  expect([sent.length, cmp1.jobs.size]).toEqual([1, 0]);
  return instance;
}

async function sweepIn(seconds: number): Promise<void> {
  queued = [];
  await sweep({ ...cmp1.deps, clock: () => Date.now() + seconds * 1000 });
}

/** What the queue's consumer does with the sweep's message. */
async function consumeQueued(): Promise<void> {
  for (const message of queued) {
    if (message.kind !== 'bind') throw new Error(`an unexpected ${message.kind}`);
    const { instance_uuid, bind_id, was_sent } = message;
    await startBind(cmp1.deps, instance_uuid, bind_id as BindId, was_sent);
  }
}

it('is Bound by the answer, with nothing left for the queue or the sweep', async () => {
  const instance = await started();
  expect(queued).toEqual([]);
  const jobId = sent[0]?.job_id ?? '';
  await finishJob(cmp1.deps, { jobId, operation: 'succeeded', answeredBy: 'cmp1' });
  expect(await cmp1.stateOf(instance)).toBe('Bound');
  await sweepIn(90);
  expect(queued).toEqual([]);
});

it('becomes one job of the same id when no answer has come', async () => {
  const instance = await started();
  await sweepIn(1);
  expect(queued).toEqual([]);
  await sweepIn(60);
  expect(queued).toHaveLength(1);
  await consumeQueued();
  expect([...cmp1.jobs.keys()]).toEqual([sent[0]?.job_id]);
  await sweepIn(120);
  expect(queued).toEqual([]);
  await cmp1.end('succeeded');
  expect(await cmp1.stateOf(instance)).toBe('Bound');
});

it('is left alone by the sweep until its host has been asked', async () => {
  const { instance } = await cmp1.bind({ 'accel:bitstream_id': loadedId });
  await sweepIn(60);
  expect(queued).toEqual([]);
  await cmp1.startBindOf(instance);
  await sweepIn(120);
  expect(queued).toHaveLength(1);
});

it('is a job from the start where the region must be programmed', async () => {
  const id = await cmp1.anImage({}, aGbs());
  await cmp1.started({ 'accel:bitstream_id': id });
  await sweepIn(60);
  expect([sent.length, queued.length, cmp1.jobs.size]).toEqual([0, 0, 1]);
});

// The last one: its release begins later than any boot of these tests.
it('fails at its deadline when neither message nor job is answered', async () => {
  const instance = await started();
  await sweepIn(60);
  await consumeQueued();
  await sweepIn(300);
  expect(await cmp1.stateOf(instance)).toBe(409);
});
