// The cloud of docs/tasks.md: three hosts, servers of the project demo in March and April 2026,
// and what happens between the commands of the page.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import { vi } from 'vitest';
import type { InventoryReport } from '#core/contracts/report/inventory-report.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { healthyMinutes } from '#core/domain/report/withhold-recovered.ts';
import { recordPresence } from '#core/operations/hosts/record-presence.ts';
import { quarantine } from '#core/operations/release/quarantine.ts';
import { handler as announcements } from '#functions/consumers/announcements.ts';
import { createTables } from '#local/aws/dynamodb/dynamodb.ts';
import { openCheckpoints } from '#local/lambda/event-sources/checkpoints.ts';
import { startStreamPoller } from '#local/lambda/event-sources/stream-poller.ts';
import { idOf, password } from '#local/openstack/keystone/catalog.ts';
import { createFetch } from '#operate/any-port-fetch.ts';
import { run } from '#operate/ops/run.ts';
import { aDevice, aHandle, applySettled, aReport, bootId } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { stage, startWorld, type World } from '#test/support/world.ts';
import type { Names } from './tasks.ts';

export interface Cloud {
  /** What happens before a command of a task. */
  prepare(task: string, at: number): Promise<void>;
  names(task: string): Names;
  run(words: readonly string[]): Promise<{ exitCode?: number; out: string; err: string }>;
  stop(): Promise<void>;
}

/** Wide enough for most tables, as an operator's terminal. */
const width = 100;
const secondMs = 1000;

const servers = {
  march: '3f0a5d2e-7c1b-4e8f-9a6d-5b2c1e0f4a31',
  april: '5c9e1f7a-2b4d-4a6e-8f3c-7d1b0a9e6c42',
  later: '8a2d6b4c-9e1f-4c3a-b5d7-0f8e7a6b5c53',
  lost: 'b7e3c9d1-4a5f-4d2b-8c6e-1a0f9e8d7b64',
} as const;

function gpu(address: string, handles: number, given: { readonly health?: string } = {}) {
  const since = new Date(Date.now()).toISOString();
  const { health: reason } = given;
  return aDevice({
    address,
    driver: 'gpu_vf',
    type: 'GPU',
    vendor: '0x8086',
    product: '0x56c0',
    model: 'Flex 170',
    provider_suffix: address,
    offers: {
      resource_class: 'VGPU',
      traits: [],
      attach_handles: Array.from({ length: handles }, (_, index) => ({
        ...aHandle(index + 1, 'PCI'),
        prepare: 'ahead' as const,
        clean_seconds: 60,
      })),
    },
    ...(reason && { health: { state: 'unhealthy', reason, since } }),
  });
}

const fpga = aDevice({
  address: '0000:af:00.0',
  driver: 'pci',
  vendor: '0x8086',
  product: '0x0b2b',
  model: 'PAC D5005',
  provider_suffix: 'Fpga',
  offers: { resource_class: 'FPGA', traits: [], attach_handles: [aHandle(1, 'PCI')] },
});

export async function startCloud(): Promise<Cloud> {
  let now = Date.parse('2026-03-09T10:00:00Z');
  vi.spyOn(Date, 'now').mockImplementation(() => now);
  const world = await startWorld();
  const streams = await writeHistory();
  const { deps } = world;
  const sequences = new Map<string, number>();

  async function report(hostname: string, devices: InventoryReport['devices']) {
    const sequence = (sequences.get(hostname) ?? 0) + 1;
    sequences.set(hostname, sequence);
    const given = { sequence, agent_version: '0.2.0' };
    await applySettled(deps, hostname, aReport(devices, given), now);
  }
  const presence = (hostname: string, eventType: 'connected' | 'disconnected') =>
    recordPresence(deps, hostname, { clientId: hostname, eventType, timestamp: now } as never);

  async function boot(instance: string, hostname: string, suffix: string, profile = 'vgpu') {
    const provider = providerUuid(`${hostname}_${suffix}`);
    return (await world.createBound(profile, { host: hostname, provider, instance }))[0];
  }
  const remove = (instance: string) =>
    world.asNova('DELETE', `/v2/accelerator_requests?instance=${instance}`);

  /** The only handle of the card that waits for its host, and what it waits for. */
  async function release() {
    const stored = await deps.store.inventory.provider(providerUuid(`cmp1.example_${failing}`));
    const handle = stored?.handles.find((each) => each.release);
    const work = handle?.release ? await deps.store.releases.awaited(handle.release) : undefined;
    if (!handle || !work) throw new Error('No handle of the card waits for its host.');
    return { handle, work };
  }
  const failing = '0000:3b:00.0';
  const other = '0000:5e:00.0';

  const profiles = { vgpu: 'VGPU', fpga: 'FPGA' };
  for (const [name, resourceClass] of Object.entries(profiles)) {
    const body = [{ name, groups: [{ [`resources:${resourceClass}`]: '1' }] }];
    await world.ask('POST', '/v2/device_profiles', { body });
  }
  await report('cmp1.example', [gpu(failing, 8), gpu(other, 8)]);
  await report('cmp2.example', [gpu(failing, 32)]);
  for (const hostname of ['cmp1.example', 'cmp2.example']) await presence(hostname, 'connected');

  now = Date.parse('2026-03-18T10:00:00Z');
  const arq = await boot(servers.march, 'cmp1.example', failing);
  now = Date.parse('2026-03-20T16:00:00Z');
  await remove(servers.march);
  now += 2 * secondMs;
  const { work, handle } = await release();
  const change = { at: new Date(now).toISOString(), by: 'agent' };
  await deps.store.releases.confirm(work, change, undefined, {
    [handle.uuid]: { at: change.at, evidence: { reset: 'flr', memory_cleared: true } },
  });
  const cleaned = '/operator/v1/history?host=cmp1.example&kind=handle.cleaned';
  await eventually(async () => (await world.ask('GET', cleaned)).json.history).not.toEqual([]);

  now = Date.parse('2026-04-02T08:00:00Z');
  await boot(servers.april, 'cmp1.example', failing);
  await report('cmp9.example', [fpga]);
  await boot(servers.lost, 'cmp9.example', 'Fpga', 'fpga');
  now += 60 * secondMs;
  await presence('cmp9.example', 'disconnected');
  now = Date.parse('2026-04-02T09:00:00Z');
  await report('cmp2.example', [gpu(failing, 32)]);
  await report('cmp1.example', [gpu(failing, 8, { health: 'reports ECC errors' }), gpu(other, 8)]);
  const { devices } = await deps.store.inventory.host('cmp1.example');
  const device = devices.find(({ address }) => address === failing)?.uuid ?? '';
  const [lost] = (await deps.store.inventory.host('cmp9.example')).devices;

  const common = { PROJECT: idOf('project', 'demo'), USER_ID: idOf('user', 'demo') };
  const named: Readonly<Record<string, Names>> = {
    'A GPU failed': { ...common, DEVICE: device, SERVER: servers.april },
    'Who had this card in March?': {
      ...common,
      DEVICE: device,
      HANDLE: handle.uuid,
      SERVER: servers.march,
      ARQ: arq,
      OTHER_SERVER: servers.later,
    },
    'A host is gone for good': {
      ...common,
      DEVICE: lost?.uuid ?? '',
      SERVER: servers.lost,
      BOOT: bootId,
    },
    'A project wants 40 vGPUs': common,
  };
  /** Keys are the task and the place of the command. */
  const events: Readonly<Record<string, Readonly<Record<number, () => Promise<unknown>>>>> = {
    'A GPU failed': {
      4: async () => {
        await remove(servers.april);
        await quarantine(deps, (await release()).work, 'The host did not confirm the cleaning.');
      },
      6: async () => {
        await report('cmp1.example', [gpu(failing, 8), gpu(other, 8)]);
        now += healthyMinutes * 60 * secondMs;
        await report('cmp1.example', [gpu(failing, 8), gpu(other, 8)]);
      },
    },
    'Who had this card in March?': {
      2: () => boot(servers.later, 'cmp1.example', failing),
    },
    'A host is gone for good': { 4: () => remove(servers.lost) },
  };

  return {
    prepare: async (task, at) => void (await events[task]?.[at]?.()),
    names: (task) => named[task] ?? {},
    run: (words) => tell(world, words),
    stop: async () => {
      await streams.stop();
      await world.stop();
      vi.restoreAllMocks();
    },
  };
}

/** Nothing but the history follows from changes: nothing else happens than what the page says. */
async function writeHistory() {
  const clients = { streams: new DynamoDBStreamsClient(), tables: new DynamoDBClient() };
  const arns = await createTables(clients.tables, stage);
  const readers = Object.values(arns).map((streamArn) =>
    startStreamPoller({
      streams: clients.streams,
      streamArn,
      consumer: { name: 'announcements', handler: announcements, timeoutSeconds: 30 },
      checkpoints: openCheckpoints(streamArn),
    }),
  );
  return {
    async stop() {
      await Promise.all(readers.map((each) => each.stop()));
      for (const client of Object.values(clients)) client.destroy();
    },
  };
}

async function tell(world: World, words: readonly string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const exitCode = await run(words, {
    environment: {
      OS_AUTH_URL: world.urls.keystone,
      OS_USERNAME: 'admin',
      OS_PASSWORD: password,
      OS_PROJECT_NAME: 'admin',
    },
    readFile: () => undefined,
    createFetch,
    clock: Date.now,
    sleep: async () => {},
    width,
    out: (text) => out.push(text),
    show: (line) => out.push(line),
    err: (text) => err.push(text),
  });
  return { ...(exitCode !== undefined && { exitCode }), out: out.join('\n'), err: err.join('\n') };
}
