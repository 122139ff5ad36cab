// Cleaning that is asked for by a message in place of a job.

import { beforeEach, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import {
  answerWithinSeconds,
  type WorkEnd,
  type WorkMessage,
} from '#core/contracts/jobs/work-message.ts';
import { startRelease } from '#core/operations/release/start-release.ts';
import { makeConsumer } from '#functions/consumers/job-events.ts';
import { withClients } from '#test/support/deps.ts';
import { startVgpuHost } from '#test/support/hosts/recorded/vgpu-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage } from '#test/support/world.ts';

const cmp1 = perFile(startVgpuHost);
let sent: { readonly host: string; readonly message: WorkMessage }[];
let queued: { readonly message: object; readonly delaySeconds: number | undefined }[];
let isAway: boolean;

beforeEach(async () => {
  await cmp1.bootAfresh();
  [sent, queued, isAway] = [[], [], false];
  const send: ConsumerDeps['clients']['hostMessages']['send'] = async (host, message) => {
    if (isAway) throw new Error('AWS IoT is away');
    if ('job_id' in message) sent.push({ host, message });
  };
  cmp1.deps = {
    ...withClients(cmp1.deps, { hostMessages: { send } }),
    queues: {
      send: async (queue, messages, delaySeconds) => {
        expect(queue).toBe('host-jobs');
        queued.push(...messages.map((message) => ({ message, delaySeconds })));
      },
    },
  };
});

/** @returns the release of the server's handle */
async function deletedServer(): Promise<string> {
  const { instance } = await cmp1.bound();
  cmp1.jobs.clear();
  expect(await cmp1.remove(instance)).toBe(204);
  const [release] = (await cmp1.handles()).flatMap((handle) => handle.release ?? []);
  return release ?? '';
}

/** The host's answer, as its rule puts it into the queue. */
async function answer(thing: string, end: WorkEnd): Promise<void> {
  const envelope = {
    thing,
    topic: `test/hosts/${thing}/work-ended`,
    received_at: Date.now(),
    payload: Buffer.from(JSON.stringify(end)).toString('base64'),
  };
  const record = {
    messageId: 'm',
    receiptHandle: 'r',
    body: JSON.stringify(envelope),
    attributes: { ApproximateReceiveCount: '1' },
  };
  const consume = makeConsumer({
    deps: () => cmp1.deps,
    sqs: () => ({ send: async () => ({}) }) as never,
  });
  const answered = await consume({ Records: [record] } as never, {} as never);
  expect(answered.batchItemFailures).toEqual([]);
}

const isReleasing = async () => (await cmp1.handles()).some(({ release }) => release !== undefined);

it('goes to the host, creates no job, and is looked after', async () => {
  const release = await deletedServer();
  await startRelease(cmp1.deps, release);
  expect(cmp1.jobs.size).toBe(0);
  expect(sent.map(({ host, message }) => [host, message.job_id])).toEqual([
    ['cmp1', `${stage}-release-${release}`],
  ]);
  expect(queued).toEqual([
    {
      message: expect.objectContaining({ kind: 'release', release_id: release, was_sent: true }),
      delaySeconds: answerWithinSeconds,
    },
  ]);
  await answer(`${stage}:cmp1`, {
    job_id: sent[0]?.message.job_id ?? '',
    status: 'SUCCEEDED',
    details: {},
  });
  expect(await isReleasing()).toBe(false);
  // The queue's message finds nothing left to do.
  await startRelease(cmp1.deps, release, true);
  expect([cmp1.jobs.size, sent.length]).toEqual([0, 1]);
});

it('is confirmed by its own host only', async () => {
  const release = await deletedServer();
  await startRelease(cmp1.deps, release);
  const end = { job_id: `${stage}-release-${release}`, status: 'SUCCEEDED', details: {} } as const;
  await answer(`${stage}:cmp2`, end);
  expect(await isReleasing()).toBe(true);
  await answer(`${stage}:cmp1`, end);
  expect(await isReleasing()).toBe(false);
});

it('becomes a job of the same id when no answer has come', async () => {
  const release = await deletedServer();
  await startRelease(cmp1.deps, release);
  await startRelease(cmp1.deps, release, true);
  expect([...cmp1.jobs.keys()]).toEqual([`${stage}-release-${release}`]);
  expect(sent).toHaveLength(1);
  await cmp1.end('release');
  expect(await isReleasing()).toBe(false);
});

it('that fails puts the handle into quarantine', async () => {
  const release = await deletedServer();
  await startRelease(cmp1.deps, release);
  await answer(`${stage}:cmp1`, {
    job_id: `${stage}-release-${release}`,
    status: 'FAILED',
    details: { reason: 'EBUSY' },
  });
  expect((await cmp1.handles()).flatMap(({ quarantine }) => quarantine ?? [])).toEqual(['EBUSY']);
});

it('is a job at once where AWS IoT takes no message', async () => {
  const release = await deletedServer();
  isAway = true;
  await startRelease(cmp1.deps, release);
  expect([...cmp1.jobs.keys()]).toEqual([`${stage}-release-${release}`]);
  // Or each attempt would add a message to the queue.
  expect(queued).toEqual([]);
});

it('is a job for a host that is not connected', async () => {
  const release = await deletedServer();
  await cmp1.disconnect(1000);
  await startRelease(cmp1.deps, release);
  expect(cmp1.jobs.size).toBe(1);
  expect([sent, queued]).toEqual([[], []]);
});
