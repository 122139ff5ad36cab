// Counts what AWS would charge for, on real engines, and compares it with
// infra/cost/counted-units.ts.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { createQueues } from '#core/clients/aws/queues.ts';
import { createConsumerDeps } from '#core/consumer-deps.ts';
import { jobId } from '#core/contracts/jobs/job-ids.ts';
import type { QueueName } from '#core/contracts/queues/queues.ts';
import type { InventoryReport, ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { thingName, workEndTopic } from '#core/contracts/topics.ts';
import type { settlingSeconds } from '#core/domain/host/identity.ts';
import { providerUuid } from '#core/domain/ids.ts';
import type { createLog } from '#core/log.ts';
import { measureFleet, measureOne } from '#core/operations/fleet/measure-fleet.ts';
import { lookAtTrees } from '#core/operations/placement/restore-tree.ts';
import { reap } from '#core/operations/release/reap/reap.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import type { createDocuments } from '#core/store/table/documents.ts';
import type { StreamHandler } from '#functions/consumers/changes.ts';
import {
  countedLogLine,
  countedMetricLine,
  countedUnits,
  type Units,
  type Workload,
} from '#infra/cost/counted-units.ts';
import { announcedChanges, followedChanges } from '#infra/stack/stream-filters.ts';
import { fpga, gpu, host, nic, pool } from '#test/support/aws/counted-devices.ts';
import { anImage, imageOfServer, profileFor } from '#test/support/aws/counted-profiles.ts';
import { ruled } from '#test/support/aws/lambda/documented-events.ts';
import { bindPatch } from '#test/support/bind-patch.ts';
import { aJobEnd } from '#test/support/builders.ts';
import { iotAt, serveHttp } from '#test/support/http-server.ts';
import { aReport } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld, type World } from '#test/support/world.ts';

const {
  counts,
  queued,
  noteInvoked,
  noteSent,
  eachByItself,
  countCalling,
  countCapacity,
  countCommands,
  countLines,
  logLines,
  metricLines,
  resetCounts,
  serversOnHosts,
  streamsRead,
} = await vi.hoisted(() => import('#test/support/aws/aws-counter.ts'));
/** The function whose clients are being made; look-ups of the test itself are not counted. */
const made = vi.hoisted(() => ({ by: '' }));
/** Messages with a delay, which the test sends when it is over. */
const held = vi.hoisted(() => [] as (() => Promise<void>)[]);

vi.mock('#core/log.ts', async (original) => {
  const log = await original<{ createLog: typeof createLog }>();
  const createNotedLog: typeof createLog = (service, ...rest) => {
    made.by = service;
    return log.createLog(service, ...rest);
  };
  return { ...log, createLog: createNotedLog };
});

vi.mock('#core/store/table/documents.ts', async (original) => {
  const documents = await original<{ createDocuments: typeof createDocuments }>();
  const createCountedDocuments: typeof createDocuments = (config) => {
    const clients = documents.createDocuments(config);
    if (made.by === 'test') return clients;
    for (const client of [clients.documents, clients.strong]) countCapacity(client);
    return clients;
  };
  return { ...documents, createDocuments: createCountedDocuments };
});

vi.mock('#core/clients/aws/queues.ts', async (original) => {
  const queues = await original<{ createQueues: typeof createQueues }>();
  const createCountedQueues: typeof createQueues = (...given) => {
    const queue = queues.createQueues(...given);
    return {
      send: async (name, messages, delaySeconds) => {
        const send = async () => {
          noteSent(name, messages.length);
          await queue.send(name, messages);
        };
        // Half a minute later the host has answered: see `answer`. A look is as good at once. What
        // has left the tree is deleted after all workloads.
        if (delaySeconds === undefined || name === 'nova-events') await send();
        else if (name !== 'provider-syncs') held.push(send);
      },
    };
  };
  return { ...queues, createQueues: createCountedQueues };
});

vi.mock('#core/clients/openstack/nova.ts', async (original) => serversOnHosts(await original()));

vi.mock('#functions/consumers/batch/queue-consumer.ts', async (original) =>
  countCalling(await original()),
);

vi.mock('#functions/consumers/changes.ts', async (original) => {
  const { handler } = await original<{ handler: StreamHandler }>();
  return { handler: eachByItself('changes', handler, followedChanges) };
});
vi.mock('#functions/consumers/announcements.ts', async (original) => {
  const { handler } = await original<{ handler: StreamHandler }>();
  return { handler: eachByItself('announcements', handler, announcedChanges) };
});

vi.mock('#core/domain/host/identity.ts', async (original) => {
  const identity = await original<{
    settlingMs: number;
    settlingSeconds: typeof settlingSeconds;
  }>();
  const soon: typeof settlingSeconds = (host, nowMs) =>
    identity.settlingSeconds(host, nowMs + 19_000);
  return { ...identity, settlingMs: 1000, settlingSeconds: soon };
});

// On a slow machine the sweep's minute could fall into a workload. Boots wait only for a second.
vi.mock('#local/lambda/event-sources/schedule.ts', () => ({
  startSchedule: () => ({ run: async () => {}, stop: async () => {} }),
}));

let world: World;
let tables: DynamoDBClient;
// The fake AWS IoT takes every job; the test plays the host.
const jobService = perFile(() =>
  serveHttp((request, response) => {
    const [path = ''] = request.url?.split('?') ?? [];
    if (request.method === 'PUT') counts[path.endsWith('/cancel') ? 'cancels' : 'jobs'] += 1;
    if (request.method === 'POST') counts.workMessages += 1;
    response.end('{}');
  }),
);
beforeAll(async () => {
  countCommands();
  countLines();
  world = await startWorld({
    consumers: true,
    settings: {
      ...iotAt(jobService),
      POWERTOOLS_METRICS_DISABLED: 'false',
      POWERTOOLS_LOG_LEVEL: 'INFO',
    },
  });
  tables = new DynamoDBClient();
  await world.startComputeNode(host);
});
afterAll(async () => {
  vi.restoreAllMocks();
  await world.stop();
  tables.destroy();
});

const bindingOf = (instance: string) => world.deps.store.arqs.binding(instance);
const inPlacement = (name: string) => world.deps.clients.placement.getProvider(providerUuid(name));

/** Waits until every message and every stream record has been worked on. */
async function settled(): Promise<void> {
  for (let before = ''; before !== JSON.stringify(counts); ) {
    before = JSON.stringify(counts);
    await streamsRead(tables);
    await eventually(() => queued.underWay).toBe(0);
  }
}

/** A message as the IoT rule puts it into the queue. */
async function publish(queue: QueueName, payload: object, topic = 'any'): Promise<void> {
  noteSent(queue, 1);
  counts.ruled += 1;
  const MessageBody = ruled(topic, thingName('test', host), payload, Date.now());
  const QueueUrl = world.deps.settings.queueUrls[queue];
  await new SQSClient().send(new SendMessageCommand({ QueueUrl, MessageBody }));
}

let sequence = 0;
let bootId: string | undefined;
let booted = '';
let known: readonly ReportedDevice[] = [];

async function report(devices: readonly ReportedDevice[], given: Partial<InventoryReport> = {}) {
  sequence += 1;
  known = devices;
  const own = { sequence, ...(bootId && { boot_id: bootId }) };
  await publish('inventory-reports', aReport(devices, { ...own, ...given }));
  await settled();
}

async function ask(method: string, path: string, body?: unknown) {
  counts.requests += 1;
  noteInvoked(path.split(/[/?]/)[2]?.replaceAll('_', '-') ?? '');
  return world.asNova(method, path, body);
}

async function endJob(kind: Parameters<typeof jobId>[1], uuid: string): Promise<void> {
  const thingArn = `arn:aws:iot:us-east-1:000000000000:thing/${thingName('test', host)}`;
  await publish('job-events', aJobEnd(jobId('test', kind, uuid), { thingArn }));
  await settled();
}

/** The host answers a work message; what was to happen without an answer finds nothing to do. */
async function answer(kind: 'bind' | 'release', uuid: string): Promise<void> {
  const end = { job_id: jobId('test', kind, uuid), status: 'SUCCEEDED', details: {} };
  await publish('job-events', end, workEndTopic('test', thingName('test', host)));
  await settled();
  for (const send of held.splice(0)) await send();
  await settled();
}

/** What the test does in place of the host. */
interface HostsPart {
  /** The bind needs nothing of the host. */
  readonly isAhead?: boolean;
  /** The host only checks, as a message asks it to. */
  readonly isCheck?: boolean;
  readonly afterBind?: () => Promise<void>;
  readonly isReleased?: boolean;
}

/** The requests that Nova makes for a server, from create to delete. */
async function serve(
  profile: string,
  provider: string,
  hostsPart: HostsPart | undefined,
): Promise<void> {
  const instance = await start(profile, provider, hostsPart);
  const asked = counts.workMessages;
  expect((await ask('DELETE', `/v2/accelerator_requests?instance=${instance}`)).status).toBe(204);
  if (!hostsPart?.isReleased) return;
  await eventually(() => counts.workMessages).toBe(asked + 1);
  await settled();
  const stored = await world.deps.store.inventory.provider(providerUuid(provider));
  await answer('release', stored?.handles.find(({ release }) => release)?.release ?? '');
}

/** @returns the uuid of the instance */
async function start(
  profile: string,
  provider: string,
  hostsPart: HostsPart | undefined,
): Promise<string> {
  const instance = crypto.randomUUID();
  await ask('GET', `/v2/device_profiles?name=${profile}`);
  const body = { device_profile_name: profile };
  const { json } = await ask('POST', '/v2/accelerator_requests', body);
  const target = {
    hostname: host,
    device_rp_uuid: providerUuid(provider),
    instance_uuid: instance,
  };
  const asked = () => (hostsPart?.isCheck ? counts.workMessages : counts.jobs);
  const before = asked();
  const toldBefore = queued.sent['nova-events'];
  const bound = await ask('PATCH', '/v2/accelerator_requests', {
    [json.arqs[0].uuid]: bindPatch(target),
  });
  expect([bound.status, bound.text]).toEqual([202, '']);
  if (hostsPart && !hostsPart.isAhead) {
    await eventually(asked).toBe(before + 1);
    await settled();
    const { bindId = '' } = (await bindingOf(instance)) ?? {};
    await (hostsPart.isCheck ? answer : endJob)('bind', bindId);
    await hostsPart.afterBind?.();
  }
  await settled();
  // Nova is not notified; its server is looked at.
  expect(queued.sent['nova-events']).toBe((toldBefore ?? 0) + 1);
  const { status, json: listed } = await ask(
    'GET',
    `/v2/accelerator_requests?instance=${instance}`,
  );
  expect([status, listed.arqs[0].state]).toEqual([200, 'Bound']);
  return instance;
}

/** The next report names another boot; then the job of the host ends. */
async function boot(instance: string): Promise<void> {
  const asked = counts.jobs;
  bootId = crypto.randomUUID();
  await report(known);
  await eventually(() => counts.jobs).toBe(asked + 1);
  await settled();
  await endJob('reprovision', (await bindingOf(instance))?.jobUuid ?? '');
  expect((await bindingOf(instance))?.state).toBe('Bound');
}

/** Counts the second run: the first fills the caches of the containers. */
const workloads: Readonly<Record<Workload, (time: 1 | 2) => Promise<void>>> = {
  async pci(time) {
    const wanted = { 'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required' };
    if (time === 1) await profileFor(world, 'pci', wanted);
    await serve('pci', `${host}_Nic`, undefined);
  },
  async vgpuAhead(time) {
    if (time === 1) {
      await profileFor(world, 'pool', { 'resources:VGPU': '1', 'trait:CUSTOM_POOL': 'required' });
      await report([...known, pool]);
      await eventually(() => inPlacement(`${host}_Pool`)).toBeDefined();
      await settled();
    }
    await serve('pool', `${host}_Pool`, { isAhead: true, isReleased: true });
  },
  async vgpu(time) {
    if (time === 1) {
      await profileFor(world, 'vgpu', { 'resources:VGPU': '1' });
      await report(known.filter((device) => device !== pool));
    }
    await serve('vgpu', `${host}_Gpu`, { isReleased: true });
  },
  async fpga(time) {
    const id = await imageOfServer(world, time);
    // The agent reports what the region holds now.
    const afterBind = () => report([nic, gpu, fpga({ 'bitstream-id': id })]);
    await serve(`fpga-${time}`, `${host}_Fpga_region0`, { afterBind });
  },
  async fpgaPresent(time) {
    if (time === 1) {
      const id = await anImage(world, 'present');
      await profileFor(world, 'fpga-present', { 'resources:FPGA': '1', 'accel:bitstream_id': id });
      await report([nic, gpu, fpga({ 'bitstream-id': id })]);
    }
    await serve('fpga-present', `${host}_Fpga_region0`, { isCheck: true });
  },
  async heartbeat() {
    await report(known, { devices: [] });
  },
  async fullReport() {
    await report(known);
  },
  async comparisons() {
    const message = { hostname: host, is_comparison: true } as const;
    await createConsumerDeps('sweep').queues.send('provider-syncs', [message]);
    await settled();
  },
  async sweep() {
    const deps = { ...createConsumerDeps('sweep'), log: world.deps.log };
    for (const each of [sweep, reap]) await each(deps);
    await deps.store.usageSums.keepHours(deps.clock());
  },
  async look() {
    const clock = () => Date.now() + 120_000;
    await lookAtTrees({ ...createConsumerDeps('sweep'), log: world.deps.log, clock });
  },
  async measuredHost() {
    const empty = { profiles: [], baselines: [], marks: [], attachTypes: undefined, nowMs: 0 };
    await measureOne(createConsumerDeps('sweep'), host, empty);
  },
  measured: () => measureFleet(createConsumerDeps('sweep'), []),
  async boot(time) {
    if (time === 1) booted = await start('vgpu', `${host}_Gpu`, {});
    await boot(booted);
  },
};

it('a host has a NIC, a GPU and an FPGA', async () => {
  await publish('host-presence', { clientId: host, timestamp: 1, eventType: 'connected' });
  await report([nic, gpu, fpga()]);
  const providers = () =>
    Promise.all(
      [`${host}_Nic`, `${host}_Gpu`, `${host}_Fpga_region0`].map((name) => inPlacement(name)),
    );
  await eventually(providers).not.toContain(undefined);
  await settled();
});

describe('the calls to AWS are exactly those of the cost model', () => {
  it.each(Object.keys(workloads) as Workload[])('%s', async (name) => {
    await workloads[name](1);
    await settled();
    resetCounts();
    await workloads[name](2);
    await settled();
    expect(counts).toEqual(countedUnits[name] satisfies Units);
  });

  it('a line of the log', () => {
    const mean = Buffer.byteLength(logLines.join('')) / logLines.length;
    expect(mean).toBeLessThanOrEqual(countedLogLine.bytes);
    expect(mean).toBeGreaterThan(countedLogLine.bytes - 50);
  });

  it('a line of metrics', () => {
    const longest = Math.max(...metricLines.map((line) => Buffer.byteLength(line)));
    expect(longest).toBeLessThanOrEqual(countedMetricLine.bytes);
    expect(longest).toBeGreaterThan(countedMetricLine.bytes - 100);
  });
});
