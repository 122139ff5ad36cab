// A restore from a backup: no handle of it is offered before the hosts and Placement have been
// asked. The test says which servers Nova has; DynamoDB, Placement, the API and the operations are
// real.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { deviceUuid } from '#core/domain/report/device-plan.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { compareHost } from '#core/operations/placement/compare-host.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { reap } from '#core/operations/release/reap/reap.ts';
import type { BackupStore } from '#core/store/backups/backups.ts';
import { type TableName, tableName } from '#core/store/table/tables.ts';
import { type Backups, createBackups } from '#test/support/aws/backup.ts';
import { nextInstance } from '#test/support/builders.ts';
import { withClients } from '#test/support/deps.ts';
import { aDevice, aGpu, aHandle } from '#test/support/reports.ts';
import { allocate } from '#test/support/stored/allocations.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld } from '#test/support/world.ts';

const host = 'cmp1';
const minuteMs = 60_000;
const fpga = aDevice({ handles: 3 });
const gpu = aGpu(
  [1, 2].map((index) => {
    return { domain: '0000', bus: '0e', asked_type: 'fake-1', vgpu_mark: `fake-1_${index}` };
  }),
);
/** A device that was added after the backup. */
const late = aDevice({
  address: '0000:0f:00.0',
  provider_suffix: 'Late',
  offers: { resource_class: 'FPGA', traits: [], attach_handles: [aHandle(40, 'PCI')] },
});

const providers = {
  fpga: providerUuid(`${host}_FakeDevice`),
  gpu: providerUuid(`${host}_Gpu`),
  late: providerUuid(`${host}_Late`),
};

const foreign = { uuid: 'bbbbbbbb-0000-4000-8000-000000000001', projectId: 'another project' };
const world = perFile(startWorld);
let deps: ConsumerDeps;
let backups: Backups;

/** Servers that Nova has, with the time of their last change. */
let servers: Map<string, string>;

/** Instances that still have allocations, to be cleaned up. */
const given = new Set<string>();

beforeAll(async () => {
  backups = createBackups(stage);
  deps = withClients(world.deps, {
    nova: {
      server: async (uuid) => {
        const updatedAt = servers.get(uuid);
        return updatedAt === undefined ? 'not-found' : { projectId: 'demo', updatedAt };
      },
      someServers: async () => [foreign],
    },
  });
  await deps.clients.placement.createProvider({
    uuid: '00000000-0000-4000-8000-00000000c0de',
    name: host,
  });
  await world.createProfile('fpga', { 'resources:FPGA': '1' });
});

/** All handles are free, described and known to Placement. */
beforeEach(async () => {
  servers = new Map([[foreign.uuid, '']]);
  for (const instance of given) await gone(instance);
  given.clear();
  for (const device of [fpga, gpu, late]) await force(device);
  await reportAndSync();
  for (const handle of [...(await handlesOf('fpga')), ...(await handlesOf('gpu'))]) {
    if (!handle.release) continue;
    const release = await deps.store.releases.awaited(handle.release);
    if (release) await deps.store.releases.confirm(release, makeChangeNote(deps));
  }
  expect((await handlesOf('fpga')).filter(isFree)).toHaveLength(3);
});

const report = (...devices: (typeof fpga)[]) => world.report(host, devices, {}, deps);

function force({ address }: { readonly address: string }) {
  const path = `/v2/devices/${deviceUuid(host, address)}/force_release`;
  return world.ask('POST', path, { body: { reason: 'looked at the host' } });
}

/** Work that the streams and the hourly sweep start. */
async function sync(): Promise<void> {
  for (const provider of Object.values(providers)) await syncProviders(deps, provider, 1);
}

/** The host reports its devices, and Placement is asked. */
async function reportAndSync(...devices: (typeof fpga)[]): Promise<void> {
  await report(fpga, gpu, ...devices);
  await sync();
}

/** Nothing happens between the backup and its restore. */
async function takeAndRestore(): Promise<void> {
  await backups.take();
  await backups.restore();
}

async function handlesOf(name: keyof typeof providers): Promise<readonly AttachHandle[]> {
  return (await deps.store.inventory.provider(providers[name]))?.handles ?? [];
}

async function comparisonOf(suffix: string) {
  const rows = await compareHost(deps, host);
  return rows.find(({ provider }) => provider === `${host}_${suffix}`);
}

function isFree(handle: AttachHandle): boolean {
  return !handle.claim && !handle.release && !handle.restoredAt;
}

async function tryToBind(name: 'fpga' | 'late' = 'fpga') {
  const arqs = await world.createArqs('fpga');
  const instance = nextInstance();
  given.add(instance);
  const target = { host, provider: providers[name], instance };
  const { status, json } = await world.bindArqs(arqs, target);
  return { instance, status, reason: json?.error as string | undefined };
}

/** No handle is free. */
const refused = { status: 409, reason: expect.stringContaining('attach handle') };

/** A server as Nova boots it: allocated, then bound. */
async function boot(name: 'fpga' | 'late' = 'fpga'): Promise<string> {
  const { instance, status } = await tryToBind(name);
  expect(status).toBe(202);
  expect(await allocate(world, instance, providers[name])).toBe(204);
  servers.set(instance, new Date(Date.now() - 60 * minuteMs).toISOString());
  return instance;
}

/** A server as Nova deletes it. */
async function gone(instance: string): Promise<void> {
  await world.deleteArqsOf(instance);
  expect([204, 404]).toContain(await allocate(world, instance, undefined));
  servers.delete(instance);
}

function dump(): Promise<unknown[]> {
  const rowsOf = async (name: TableName) => [...(await backups.store.rows(tableName(stage, name)))];
  return Promise.all((['arqs', 'inventory', 'device-profiles'] as const).map(rowsOf));
}

describe('after a restore', () => {
  it('no handle is offered until its host has reported and Placement was asked', async () => {
    await takeAndRestore();
    expect(await tryToBind()).toMatchObject(refused);
    await sync();
    expect(await tryToBind()).toMatchObject(refused);
    await report(fpga, gpu);
    expect(await tryToBind()).toMatchObject(refused);
    await sync();
    expect((await tryToBind()).status).toBe(202);
  });

  it('the host is asked for all its devices, whatever its heartbeat says', async () => {
    await takeAndRestore();
    const made: string[] = [];
    const noted = withClients(deps, { jobs: { create: async (id) => void made.push(id) } });
    await world.report(host, [fpga, gpu], { devices: [] }, noted);
    expect(made).toEqual([expect.stringContaining(`${stage}-rediscover-`)]);
  });

  it('Placement allocates no unit of a restored device', async () => {
    await takeAndRestore();
    await sync();
    const held = await deps.clients.placement.getInventories(providers.fpga);
    expect(held?.inventories.FPGA).toMatchObject({ total: 3, reserved: 3 });
    await reportAndSync();
    const free = await deps.clients.placement.getInventories(providers.fpga);
    expect(free?.inventories.FPGA).toMatchObject({ total: 3, reserved: 0 });
  });

  it('a device with an unknown consumer is not offered', async () => {
    const before = await boot();
    await backups.take();
    const unknownConsumer = await boot();
    await backups.restore();
    await reportAndSync();
    expect((await handlesOf('fpga')).filter(isFree)).toEqual([]);
    expect(await tryToBind()).toMatchObject(refused);
    expect(await comparisonOf('FakeDevice')).toMatchObject({
      placement: expect.stringContaining(`allocated without a request: ${unknownConsumer}`),
      agrees: false,
    });
    // Binds that the backup knows go on.
    expect((await world.arqsOf(before)).json.arqs).toMatchObject([{ state: 'Bound' }]);

    await gone(unknownConsumer);
    await sync();
    expect((await handlesOf('fpga')).filter(isFree)).toHaveLength(2);
  });

  it.each([true, false])(
    'a handle is not offered while an instance may have moved to it: %s',
    async (isShown) => {
      const instance = await boot();
      await backups.take();
      servers = new Map(isShown ? [...servers, [instance, new Date().toISOString()]] : []);
      await backups.restore();
      await reportAndSync();
      expect((await handlesOf('fpga')).filter(isFree)).toEqual([]);
      expect(await comparisonOf('FakeDevice')).toMatchObject({
        placement: expect.stringContaining(`changed since the backup: ${instance}`),
        agrees: false,
      });
      await gone(instance);
      await sync();
      expect((await handlesOf('fpga')).filter(isFree)).toHaveLength(3);
    },
  );

  it('a full device is not released by an instance that may have changed its handle', async () => {
    const [first, second] = [await boot(), await boot(), await boot()];
    await backups.take();
    // The first was deleted, and the second was built again with the handle of the first.
    servers.delete(first as string);
    expect(await allocate(world, first as string, undefined)).toBe(204);
    servers.set(second as string, new Date().toISOString());
    await backups.restore();
    await reportAndSync();
    await gone(first as string);
    expect((await handlesOf('fpga')).filter(isFree)).toEqual([]);
  });

  it('an admin frees a restored device by force', async () => {
    await backups.take();
    await boot();
    await backups.restore();
    await reportAndSync();
    expect(await tryToBind()).toMatchObject(refused);
    const { json } = await force(fpga);
    expect(json.attach_handles).toHaveLength(3);
    expect((await tryToBind()).status).toBe(202);
  });

  it('an instance that was deleted after the backup is reaped once its device has no unknown consumer', async () => {
    const instance = await boot();
    await backups.take();
    await gone(instance);
    const unknownConsumer = await boot();
    await backups.restore();
    expect(await deps.store.arqs.binding(instance)).toBeDefined();
    await reportAndSync();
    const reapTwice = async () => {
      await reap(deps);
      await reap({ ...deps, clock: () => Date.now() + 11 * minuteMs });
    };
    // The unknown consumer may have this handle: the host must not be asked to clean it up.
    await reapTwice();
    expect(await deps.store.arqs.binding(instance)).toBeDefined();
    await gone(unknownConsumer);
    await sync();
    await reapTwice();
    expect(await deps.store.arqs.binding(instance)).toBeUndefined();
    expect((await handlesOf('fpga')).filter(isFree)).toHaveLength(3);
  });

  it('a device that the backup does not know is restored like the others', async () => {
    await backups.take();
    await reportAndSync(late);
    const unknownConsumer = await boot('late');
    await backups.restore();
    expect(await handlesOf('late')).toEqual([]);
    await report(fpga, gpu, late);
    expect(await tryToBind('late')).toMatchObject(refused);
    await sync();
    expect(await tryToBind('late')).toMatchObject(refused);
    await gone(unknownConsumer);
    await sync();
    expect((await tryToBind('late')).status).toBe(202);
  });

  it('a host first removes what it may have made after the backup', async () => {
    await takeAndRestore();
    await reportAndSync();
    const waiting = await handlesOf('gpu');
    const [id] = new Set(waiting.map(({ release }) => release));
    expect(waiting).toMatchObject([{ release: id }, { release: id }]);
    const release = await deps.store.releases.awaited(id ?? '');
    expect(release?.handles).toHaveLength(2);
    if (release) await deps.store.releases.confirm(release, makeChangeNote(deps));
    expect((await handlesOf('gpu')).filter(isFree)).toHaveLength(2);
  });

  it('a claim that was decided before the restore fails', async () => {
    await backups.take();
    const stale = (await handlesOf('fpga'))[0];
    await backups.restore();
    await reportAndSync();
    const now = (await handlesOf('fpga')).find(({ uuid }) => uuid === stale?.uuid);
    expect(now?.epoch).toBeGreaterThan(stale?.epoch ?? Number.NaN);
  });
});

describe('the restore command', () => {
  it('writes nothing without --yes', async () => {
    await boot();
    await backups.take();
    await boot();
    const before = await dump();
    const counts = await backups.restore(backups.store, true);
    expect(await dump()).toEqual(before);
    // Deleted are the second ARQ and its instance's row.
    expect(counts).toMatchObject([{}, { table: 'arqs', deleted: 2 }, {}]);
  });

  it('offers no handle wherever it dies, and has the same result when it is run again', async () => {
    await boot();
    await backups.take();
    await boot();
    let deaths = 0;
    for (let at = 1; ; at += 1) {
      let count = 0;
      const die = () => {
        count += 1;
        if (count >= at) throw new Error('killed');
      };
      const writes = ['put', 'delete', 'withhold', 'noteMoment'];
      const dying = new Proxy(backups.store, {
        get: (store, name: keyof BackupStore) => {
          if (writes.includes(name)) die();
          return store[name];
        },
      });
      if ((await backups.restore(dying).catch(() => 'dead')) !== 'dead') break;
      deaths += 1;
      // The moment, and each handle of three devices at most.
      if (at > 8) expect(await tryToBind()).toMatchObject(refused);
    }
    expect(deaths).toBeGreaterThan(12);
    expect((await handlesOf('fpga')).filter(({ restoredAt }) => !restoredAt)).toEqual([]);
    expect((await handlesOf('fpga')).filter(({ claim }) => claim)).toHaveLength(1);
  });
});
