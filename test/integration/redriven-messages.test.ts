// A message that comes out of its dead-letter queue minutes later, when the world has moved on.
// The messages are those that the code of each sender has sent. The runbook says that redriving
// them is safe at any time.
//
// @module-tag long

import { SQSClient } from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { QueueName } from '#core/contracts/queues/queues.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { createRuleEngine } from '#local/aws/iot-rules.ts';
import { makeConsumers } from '#simulation/world/aws/queues.ts';
import { aJobEnd, bootIdOf } from '#test/support/builders.ts';
import { withClients } from '#test/support/deps.ts';
import { gpu, provider, startVgpuHost } from '#test/support/hosts/recorded/vgpu-host.ts';
import { allRows, copyMessages } from '#test/support/release-states.ts';
import { aReport } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage } from '#test/support/world.ts';

/** Late events go to EventBridge, and change nothing here. */
type RedrivenQueue = Exclude<QueueName, 'late-events'>;

const host = perFile(() => startVgpuHost({}, 3, { consumers: 'streams' }));
let copied: ReturnType<typeof copyMessages>;
/** What a consumer asks of Nova and of the host. */
let effects: unknown[];

beforeAll(() => {
  copied = copyMessages();
});
afterAll(() => copied.end());
beforeEach(async () => {
  await host.world.startComputeNode('cmp1');
  await host.bootAfresh();
  effects = [];
});

/** The last message of the queue with these fields. */
async function sent(queue: QueueName, fields: object = {}): Promise<object> {
  const expected = Object.entries(fields);
  const find = () =>
    copied.messages.findLast(
      ({ queue: name, body }) =>
        name === queue &&
        expected.every(([key, value]) => (body as Record<string, unknown>)[key] === value),
    )?.body;
  await eventually(find).toBeDefined();
  return find() as object;
}

/** Publishes as the host or AWS IoT does; returns the message that the rule has sent. */
async function published(queue: QueueName, topic: string, payload: object): Promise<object> {
  const rules = createRuleEngine({
    stage,
    sqs: new SQSClient(),
    queueUrls: host.deps.settings.queueUrls,
  });
  await rules.deliver(topic, Buffer.from(JSON.stringify(payload)));
  return sent(queue);
}

const jobEnded = (jobId = '', operation: 'succeeded' | 'failed' = 'succeeded') =>
  published(
    'job-events',
    `$aws/events/jobExecution/${jobId}/${operation}`,
    aJobEnd(jobId, { operation, statusDetails: operation === 'failed' ? { reason: 'EIO' } : {} }),
  );

const reported = (given: object, devices = [gpu]) =>
  published('inventory-reports', `${stage}/hosts/${stage}:cmp1/inventory`, aReport(devices, given));

function presence(eventType: 'connected' | 'disconnected', versionNumber: number) {
  const event = { clientId: `${stage}:cmp1`, timestamp: Date.now(), eventType, versionNumber };
  return published('host-presence', `$aws/events/presence/${eventType}/${stage}:cmp1`, {
    ...event,
    sessionIdentifier: `session-${versionNumber}`,
  });
}

/** A server that waits for Nova's event, and the message that would cause it. */
async function notified() {
  const made = await host.started();
  const path = `/v2/accelerator_requests?instance=${made.instance}`;
  await host.world.ask('GET', path, { token: 'demo-token' });
  await host.end('bind');
  const end = { instance_uuid: made.instance, is_look: undefined };
  return { ...made, message: await sent('nova-events', end) };
}

async function removed(instance: string): Promise<void> {
  await host.remove(instance);
  await host.startReleases();
  await host.end('release');
}

/** Other servers get all handles that are free. */
async function giveTheRest(): Promise<void> {
  const isFree = async () => (await host.handles()).some(({ claim }) => claim === undefined);
  while (await isFree()) await host.bound();
}

async function bindAgain(instance: string): Promise<void> {
  const [arq] = await host.world.createArqs('vgpu');
  expect((await host.world.bindArqs(arq, { provider, instance })).status).toBe(202);
  await host.startBindOf(instance);
  await host.end('bind');
}

const jobOf = (kind: string) =>
  [...host.jobs.keys()].find((id) => id.startsWith(`${stage}-${kind}-`));

/** A server whose host was asked to make its vGPU again after a boot, and the message for it. */
async function reprovisioning() {
  const { instance } = await host.bound();
  await host.boot();
  const job = jobOf('reprovision');
  const message = await sent('host-jobs', { kind: 'reprovision' });
  return { instance, job, message };
}

/** For each queue the messages, and what happens until they are redriven. */
const rows: Readonly<Record<RedrivenQueue, Readonly<Record<string, () => Promise<object>>>>> = {
  'nova-events': {
    'that notifies Nova changes nothing after the server is deleted': async () => {
      const { instance, message } = await notified();
      await removed(instance);
      return message;
    },
    'that notifies Nova changes nothing after the server is bound again': async () => {
      const { instance, message } = await notified();
      await removed(instance);
      await bindAgain(instance);
      return message;
    },
    'that notifies Nova changes nothing after the host has booted': async () => {
      const { message } = await notified();
      await host.boot();
      return message;
    },
    'that notifies Nova changes nothing after Nova has given up': async () => {
      const { message } = await notified();
      host.setClockAhead(10);
      return message;
    },
    'that looks at the server changes nothing after the server is deleted': async () => {
      const { instance } = await host.bound();
      await removed(instance);
      return sent('nova-events', { instance_uuid: instance, is_look: true });
    },
  },
  'host-jobs': {
    'that prepares a handle changes nothing after it is bound': async () => {
      const { instance } = await host.bound();
      return sent('host-jobs', { kind: 'bind', instance_uuid: instance });
    },
    'that prepares a handle changes nothing after another server has it': async () => {
      const { instance } = await host.bound();
      await removed(instance);
      await giveTheRest();
      return sent('host-jobs', { kind: 'bind', instance_uuid: instance });
    },
    'that prepares a handle changes nothing after the host has booted': async () => {
      const { instance } = await host.bound();
      await host.boot();
      await host.end('reprovision');
      return sent('host-jobs', { kind: 'bind', instance_uuid: instance });
    },
    'that cleans a handle changes nothing after another server has it': async () => {
      await host.releasing();
      const message = await sent('host-jobs', { kind: 'release' });
      await host.end('release');
      await giveTheRest();
      return message;
    },
    'that cleans a handle changes nothing after the host has booted, and another server has it':
      async () => {
        await host.releasing();
        const message = await sent('host-jobs', { kind: 'release' });
        host.jobs.clear();
        await host.boot();
        await host.confirmReleases();
        await giveTheRest();
        return message;
      },
    'that makes a vGPU again changes nothing after it is made': async () => {
      const { message } = await reprovisioning();
      await host.end('reprovision');
      return message;
    },
    'that makes a vGPU again changes nothing after the server is deleted': async () => {
      const { instance, message } = await reprovisioning();
      await host.end('reprovision');
      await removed(instance);
      return message;
    },
    'that makes a vGPU again changes nothing after the host has booted again': async () => {
      const { message } = await reprovisioning();
      host.jobs.clear();
      await host.boot();
      await host.end('reprovision');
      return message;
    },
  },
  'job-events': {
    'that ends a bind changes nothing after another server has its handle': async () => {
      const { instance } = await host.started();
      const job = jobOf('bind');
      await host.end('bind');
      await removed(instance);
      await giveTheRest();
      return jobEnded(job);
    },
    'that fails a bind changes nothing after its server is bound again': async () => {
      const { instance } = await host.started();
      const job = jobOf('bind');
      await host.end('bind', 'failed');
      await removed(instance);
      await bindAgain(instance);
      return jobEnded(job, 'failed');
    },
    'that ends a release changes nothing after another server has the handle': async () => {
      await host.releasing();
      const job = jobOf('release');
      await host.end('release');
      await giveTheRest();
      return jobEnded(job);
    },
    'that fails a release changes nothing after another server has the handle': async () => {
      await host.releasing();
      const job = jobOf('release');
      await host.end('release');
      await giveTheRest();
      return jobEnded(job, 'failed');
    },
    'that ends the work after a boot changes nothing after the host has booted again': async () => {
      const { job } = await reprovisioning();
      host.jobs.clear();
      await host.boot();
      return jobEnded(job);
    },
  },
  'inventory-reports': {
    'that has fewer vGPUs changes nothing after a later report has all': async () => {
      await host.bound();
      const message = await reported({ boot_id: bootIdOf(host.counts.boots), sequence: 1 }, []);
      await host.report();
      return message;
    },
    'that is of the boot before changes nothing after servers have their vGPUs again': async () => {
      await host.bound();
      const boot_id = bootIdOf(host.counts.boots);
      const message = await reported({ boot_id, sequence: host.counts.sequence + 1 });
      await host.boot();
      await host.end('reprovision');
      return message;
    },
  },
  'host-presence': {
    'that ends a connection changes nothing after the host has connected again': async () => {
      const message = await presence('disconnected', 2);
      await redrive('host-presence', await presence('connected', 3));
      return message;
    },
    'that connects changes nothing after the host has gone': async () => {
      const message = await presence('connected', 4);
      await redrive('host-presence', await presence('disconnected', 5));
      return message;
    },
  },
  'provider-syncs': {
    'that reserves a disabled device changes nothing after it is enabled': async () => {
      const { devices } = (await host.world.ask('GET', '/v2/devices')).json;
      const path = `/v2/devices/${devices[0]?.uuid}`;
      await host.world.ask('POST', `${path}/disable`);
      const fields = { provider_uuid: providerUuid('cmp1_0000:0e:00.0') };
      const message = await sent('provider-syncs', fields);
      await host.world.ask('POST', `${path}/enable`);
      await redrive('provider-syncs', await sent('provider-syncs', fields));
      return message;
    },
  },
};

async function redrive(queue: QueueName, ...messages: readonly object[]): Promise<void> {
  const consume = makeConsumers[queue]({
    deps: () => recording(host.deps),
    sqs: () =>
      ({ send: async (command: object) => effects.push(command.constructor.name) }) as never,
  });
  const Records = messages.map((body, index) => ({
    messageId: String(index),
    receiptHandle: 'r',
    body: JSON.stringify(body),
    attributes: { ApproximateReceiveCount: '1' },
  })) as SQSRecord[];
  expect(await consume({ Records } as never, {} as never)).toEqual({ batchItemFailures: [] });
}

/** Keeps what the consumer asks of others, in place of asking. */
function recording(deps: ConsumerDeps): ConsumerDeps {
  const note =
    (name: string) =>
    async (...args: unknown[]) => {
      effects.push([name, ...args]);
      return [];
    };
  return withClients(deps, {
    jobs: { create: note('job') as never, cancel: note('cancel') as never },
    hostMessages: { send: note('host message') as never },
    nova: { postExternalEvents: note('event') as never },
  });
}

/** Marks of incidents follow a stream, and leftover work of an earlier boot is deleted. */
const othersRows = /^(INCIDENTS|JOB)#/;

/** The tables and Placement. */
async function everything(): Promise<unknown> {
  const headers = { 'X-Auth-Token': 'admin-token' };
  const { placement: url } = host.world.urls;
  const stored = (await allRows()).filter(({ row }) => !othersRows.test(String(row.pk)));
  const tree = await (await fetch(`${url}/resource_providers`, { headers })).json();
  const inventory = await fetch(`${url}/resource_providers/${provider}/inventories`, { headers });
  return [stored, tree, inventory.ok && (await inventory.json())];
}

describe.each(Object.keys(rows) as RedrivenQueue[])('a message of %s', (queue) => {
  it.each(Object.entries(rows[queue]))('%s', async (_, play) => {
    const message = await play();
    effects = [];
    const before = await everything();
    await redrive(queue, message, message);
    await redrive(queue, message);
    expect(effects).toEqual([]);
    expect(await everything()).toEqual(before);
  });
});

it('a message of nova-events tells Nova the end once more while Nova waits', async () => {
  const { arq, instance, message } = await notified();
  await redrive('nova-events', message);
  const event = { name: 'accelerator-request-bound', tag: arq, server_uuid: instance };
  expect(effects).toEqual([['event', [{ ...event, status: 'completed' }]]]);
});
