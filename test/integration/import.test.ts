// An import from Cyborg: its servers keep their devices, and no handle is given to a second one.
// The test says which servers Nova has; DynamoDB, Placement, the API and the operations are real.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { createStore } from '#core/deps.ts';
import { handleStateOf } from '#core/domain/device/handle-state.ts';
import { type ProviderUuid, providerUuid } from '#core/domain/ids.ts';
import { stackTrait } from '#core/domain/placement/stack-mark.ts';
import { importAll } from '#core/operations/import/import-all.ts';
import type { ImportDeps } from '#core/operations/import/import-device.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { countProjectUse } from '#core/operations/quotas/count-use.ts';
import { setQuota } from '#core/operations/quotas/set-quota.ts';
import { importStore } from '#core/store/arqs/imports.ts';
import { backupStore } from '#core/store/backups/backups.ts';
import { createDocuments, type Documents } from '#core/store/table/documents.ts';
import { type TableName, tableName } from '#core/store/table/tables.ts';
import { readCloudFacts } from '#operate/import/cloud-facts.ts';
import { readTables } from '#operate/import/cyborg-tables.ts';
import { planImport } from '#operate/import/plan.ts';
import {
  aCyborg,
  arqOf,
  type CyborgDump,
  cyborgHost,
  cyborgProvider,
  cyborgProviderName,
  serverOf,
  xmlOf,
} from '#test/support/cyborg-tables.ts';
import { withClients } from '#test/support/deps.ts';
import { aDevice } from '#test/support/reports.ts';
import { allocate } from '#test/support/stored/allocations.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld } from '#test/support/world.ts';

const provider = cyborgProvider as ProviderUuid;
const node = '00000000-0000-4000-8000-00000000c0de';
const project = 'demo';
const fpga = aDevice({ handles: 4 });

/** Nova's servers, beside one of another project. */
const foreign = { uuid: 'bbbbbbbb-0000-4000-8000-000000000001', projectId: 'another project' };
const names = ['arqs', 'inventory', 'device-profiles'] as const satisfies TableName[];

const world = perFile(startWorld);
let deps: ConsumerDeps & ImportDeps;
let servers: Set<string>;
let told: string[] = [];
const backups = () => backupStore(createDocuments().documents);

beforeAll(async () => {
  deps = {
    ...withClients(world.deps, {
      nova: {
        server: async (uuid) =>
          servers.has(uuid) || uuid === foreign.uuid
            ? { projectId: project, host: 'compute', updatedAt: '2026-06-01T00:00:00Z' }
            : 'not-found',
        someServers: async () => [foreign],
      },
    }),
    // The lease of a process that died ends while the next one waits.
    sleep: async () => {
      await leaseEnded();
    },
    inform: (sentence) => told.push(sentence),
  };
  await deps.clients.placement.createProvider({ uuid: node, name: cyborgHost });
});

/** Cyborg's provider with its allocations, and nothing of ours. */
beforeEach(async () => {
  const { placement } = deps.clients;
  for (const id of [1, 2, 3]) await allocate(world, serverOf(id), undefined);
  // Regions are below devices.
  for (const each of (await placement.providersInTree(node)).toReversed()) {
    if (each.uuid !== node) await placement.deleteProvider(each.uuid);
  }
  await emptied();
  await placement.createProvider({ uuid: provider, name: cyborgProviderName, parentUuid: node });
  await placement.ensureTrait('CUSTOM_FAKE_DEVICE');
  await placement.ensureTrait('CUSTOM_OF_CYBORG');
  const traits = ['CUSTOM_FAKE_DEVICE', 'CUSTOM_OF_CYBORG'];
  const generation = await placement.putTraits(provider, 0, traits);
  await placement.putInventories(provider, generation, { FPGA: { total: 4, max_unit: 4 } });
  servers = new Set([serverOf(1), serverOf(2)]);
  for (const id of [1, 2]) await allocate(world, serverOf(id), provider);
});

async function planned(dump = aCyborg()) {
  const tables = readTables(xmlOf(dump));
  const now = new Date(deps.clock()).toISOString();
  return planImport(tables, await readCloudFacts(deps, tables), new Set(), now);
}

async function importOnce(documents: Documents = createDocuments().strong, dump = aCyborg()) {
  const plan = await planned(dump);
  const store = createStore({ documents, strong: documents, close: () => {} }, stage);
  const tables = { arqs: tableName(stage, 'arqs'), inventory: tableName(stage, 'inventory') };
  return importAll({ ...deps, ...store, imports: importStore(documents, tables) }, plan);
}

async function report(...devices: (typeof fpga)[]): Promise<void> {
  await world.report(cyborgHost, devices, {}, deps);
  await syncProviders(deps, provider, 1);
}

async function states(): Promise<readonly string[]> {
  const { handles = [] } = (await deps.store.inventory.provider(provider)) ?? {};
  return handles.map((handle) => handleStateOf(handle)).sort();
}

/** DynamoDB returns attributes in any order. */
function sortedKeys(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Rows without what differs between two attempts. */
async function rows(): Promise<string> {
  const all = await Promise.all(
    names.map(async (name) => [...(await backups().rows(tableName(stage, name))).values()]),
  );
  const times = /"\d{4}-\d\d-\d\dT[^"]*"|"epoch":\d+|"lease_holder":"[^"]*"/g;
  const texts = all.flat().map((row) => JSON.stringify(row, sortedKeys).replaceAll(times, ''));
  return texts.sort().join('\n');
}

describe('an import from Cyborg', () => {
  it('gives each server its ARQs, and nothing to others until the agent has reported', async () => {
    expect(await importOnce()).toEqual({ imported: 4, present: 0 });
    expect(await states()).toEqual(['claimed', 'claimed', 'restored', 'restored']);
    expect((await world.arqsOf(serverOf(1))).json.arqs).toMatchObject([
      {
        uuid: arqOf(1),
        state: 'Bound',
        device_rp_uuid: provider,
        hostname: cyborgHost,
        attach_handle_type: 'TEST_PCI',
        project_id: project,
        attach_handle_info: { domain: '0000', bus: '0c', device: '0', function: '1' },
      },
    ]);
    await report(fpga);
    expect(await states()).toEqual(['claimed', 'claimed', 'free', 'free']);
  });

  it('keeps the provider with its allocations, and its traits beside ours', async () => {
    const { placement } = deps.clients;
    const before = await placement.allocationsOf(provider);
    await importOnce();
    await syncProviders(deps, provider, 1);
    const held = await placement.getInventories(provider);
    expect(held?.inventories.FPGA).toMatchObject({ total: 4, reserved: 2 });
    await report(fpga);
    const tree = await placement.providersInTree(node);
    expect(tree.map(({ name }) => name).sort()).toEqual([cyborgHost, cyborgProviderName].sort());
    expect((await placement.getTraits(provider))?.traits.sort()).toEqual([
      stackTrait(stage),
      'CUSTOM_FAKE_DEVICE',
      'CUSTOM_FPGA_ABCD_ABCD',
      'CUSTOM_OF_CYBORG',
      'OWNER_CYBORG',
    ]);
    expect(await placement.allocationsOf(provider)).toEqual(before);
  });

  it('ends the same wherever it dies and is repeated', async () => {
    const dump = aCyborg();
    Object.assign(dump.devices[0] ?? {}, { status: 'maintaining' });
    dump.attributes.push({ ...dump.attributes[0], id: 3, key: 'rack', value: 'r7' });
    await importOnce(undefined, dump);
    const whole = await rows();
    const calls = await callsOf(createDocuments().strong, dump);
    expect(calls).toBeGreaterThan(11);
    for (let call = 1; call <= calls; call++) {
      for (const phase of ['before', 'after'] as const) {
        await emptied();
        await expect(importOnce(diesAt(call, phase), dump)).rejects.toThrow('died');
        await importOnce(undefined, dump);
        expect(await rows(), `${phase} call ${call}`).toBe(whole);
        // The plan leaves out servers that have their binding.
        expect(await importOnce(undefined, dump)).toEqual({ imported: 0, present: 2 });
      }
    }
  });

  it('goes on with a device that is larger than a transaction', async () => {
    const dump = aCyborg({ handles: 120 });
    await expect(importOnce(diesAt(60, 'after'), dump)).rejects.toThrow('died');
    told = [];
    expect(await importOnce(undefined, dump)).toEqual({ imported: 3, present: 1 });
    expect(told).toEqual([expect.stringContaining('waits for up to 90 s')]);
    expect((await states()).filter((state) => state === 'restored')).toHaveLength(118);
  });

  it('withholds handles while Placement has an allocation that the tables lack', async () => {
    await allocate(world, serverOf(3), provider);
    await importOnce();
    await report(fpga);
    expect(await states()).toEqual(['claimed', 'claimed', 'restored', 'restored']);
    await allocate(world, serverOf(3), undefined);
    await syncProviders(deps, provider, 1);
    expect(await states()).toEqual(['claimed', 'claimed', 'free', 'free']);
  });

  it('withholds all parts of a device while a server that was left out holds the whole', async () => {
    await allocate(world, serverOf(3), provider);
    await importOnce();
    for (const id of [1, 2]) await gone(serverOf(id));
    await cleaned();
    const { offers, ...bare } = fpga;
    const region = { name: 'r0', kind: 'reconfigurable-region' as const, num_accelerators: 4 };
    const regions = [{ ...(offers as NonNullable<typeof offers>), ...region }];
    await expect(report({ ...bare, regions })).rejects.toThrow('still allocated');
    const inRegion = async () =>
      (await deps.store.inventory.provider(providerUuid(`${cyborgProviderName}_r0`)))?.handles.map(
        (handle) => handleStateOf(handle),
      );
    expect(await inRegion()).toEqual(['restored', 'restored', 'restored', 'restored']);
    await allocate(world, serverOf(3), undefined);
    await syncProviders(deps, provider, 1);
    expect(await inRegion()).toEqual(['free', 'free', 'free', 'free']);
  });

  it('gives nothing of a device that the agent offers otherwise, until servers give it back', async () => {
    await importOnce();
    const [, ...others] = fpga.offers?.attach_handles ?? [];
    const offers = { ...(fpga.offers as NonNullable<typeof fpga.offers>), attach_handles: others };
    await report({ ...fpga, offers });
    const { devices } = await deps.store.inventory.host(cyborgHost);
    expect(devices[0]?.health).toMatchObject({ state: 'unhealthy' });
    const held = await deps.clients.placement.getInventories(provider);
    expect(held?.inventories.FPGA?.reserved).toBe(held?.inventories.FPGA?.total);
    await gone(serverOf(1));
    await cleaned();
    await report({ ...fpga, offers, model: 'described again' });
    expect((await deps.store.inventory.host(cyborgHost)).devices[0]?.health).toBeUndefined();
  });

  it('has a handle cleaned that is released before the first report', async () => {
    await importOnce();
    await gone(serverOf(1));
    expect(await states()).toEqual(['claimed', 'cleaning', 'restored', 'restored']);
  });

  it('has a handle cleaned as the agent says now, not as at the import', async () => {
    await importOnce();
    await report(fpga);
    await gone(serverOf(1));
    expect(await states()).toEqual(['claimed', 'free', 'free', 'free']);
  });

  it('refuses a device that our agent has reported before', async () => {
    const plan = await planned();
    await world.report(cyborgHost, [fpga]);
    const { rows: after } = await planned();
    expect(after.map(({ verdict }) => verdict)).toContain('refuse');
    const tables = { arqs: tableName(stage, 'arqs'), inventory: tableName(stage, 'inventory') };
    const imports = importStore(createDocuments().strong, tables);
    await expect(importAll({ ...deps, imports }, plan)).rejects.toThrow(
      'an agent of this service has reported it already',
    );
  });

  it('ends with a sentence where the host does not stop to report', async () => {
    const later = new Date(Date.now() + 3_600_000).toISOString();
    await deps.store.inventory.takeLease(cyborgHost, 'a report', later, later);
    const { sleep } = deps;
    Object.assign(deps, { sleep: async () => {} });
    await expect(importOnce()).rejects.toThrow('is still being changed');
    Object.assign(deps, { sleep });
    expect(await importOnce()).toEqual({ imported: 3, present: 1 });
  });

  it('counts imported ARQs in a quota', async () => {
    await importOnce();
    expect(await countProjectUse(deps, project)).toEqual({ FPGA: 2 });
    const { unitsLeft } = await setQuota(deps, project, { FPGA: 5 });
    expect(unitsLeft).toEqual({ FPGA: 3 });
  });
});

/** A server as Nova deletes it. */
async function gone(instance: string): Promise<void> {
  expect((await world.deleteArqsOf(instance)).status).toBe(204);
  await allocate(world, instance, undefined);
}

/** What the host was asked to clean is clean. */
async function cleaned(): Promise<void> {
  const { handles = [] } = (await deps.store.inventory.provider(provider)) ?? {};
  for (const id of handles.flatMap(({ release }) => release ?? [])) {
    const work = await deps.store.releases.awaited(id);
    if (work) await deps.store.releases.confirm(work, makeChangeNote(deps));
  }
}

async function emptied(): Promise<void> {
  for (const name of names) {
    const table = tableName(stage, name);
    for (const row of (await backups().rows(table)).values()) await backups().delete(table, row);
  }
}

/** The lease of a process that died ends by itself. */
async function leaseEnded(): Promise<void> {
  const later = new Date(Date.now() + 3_600_000).toISOString();
  if (await deps.store.inventory.takeLease(cyborgHost, 'test', later, later)) {
    await deps.store.inventory.endLease(cyborgHost, 'test');
  }
}

async function callsOf(documents: Documents, dump: CyborgDump): Promise<number> {
  let calls = 0;
  onCall(documents, (phase) => {
    if (phase === 'before') calls += 1;
  });
  await emptied();
  await importOnce(documents, dump);
  return calls;
}

/** A client whose process dies at one call: before it is sent, or before its answer arrives. */
function diesAt(step: number, phase: 'before' | 'after'): Documents {
  const documents = createDocuments().strong;
  let calls = 0;
  onCall(documents, (at) => {
    if (at === 'before') calls += 1;
    if (calls > step || (calls === step && at === phase)) throw new Error('died');
  });
  return documents;
}

function onCall(documents: Documents, act: (phase: 'before' | 'after') => void): void {
  documents.middlewareStack.add(
    (next) => async (args) => {
      act('before');
      const answer = await next(args);
      act('after');
      return answer;
    },
    { step: 'initialize', name: 'calls' },
  );
}
