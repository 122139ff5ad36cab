// Devices that Cyborg has not cleaned after their last server: no server gets them before they are
// clean. DynamoDB, Placement, the API and the operations are real.

import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import { handleStateOf } from '#core/domain/device/handle-state.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { deviceUuid } from '#core/domain/report/device-plan.ts';
import { forgetHost } from '#core/operations/hosts/forget-host.ts';
import { importAll } from '#core/operations/import/import-all.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { importStore } from '#core/store/arqs/imports.ts';
import { backupStore } from '#core/store/backups/backups.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { tableName } from '#core/store/table/tables.ts';
import { readIncidents } from '#functions/operator/incidents/incident-reads.ts';
import { readCloudFacts } from '#operate/import/cloud-facts.ts';
import { readTables } from '#operate/import/cyborg-tables.ts';
import { planImport } from '#operate/import/plan.ts';
import {
  aCyborg,
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
const tables = { arqs: tableName(stage, 'arqs'), inventory: tableName(stage, 'inventory') };
const unclean = aCyborg({ servers: 0, state: 'pending_cleaning' });

const fpga = aDevice({ handles: 4 });
const offers = fpga.offers as NonNullable<typeof fpga.offers>;
const [lost, ...others] = offers.attach_handles;
const cleaned = {
  ...fpga,
  offers: {
    ...offers,
    attach_handles: [lost, ...others].map((each) => ({ ...each, clean_seconds: 100 })),
  },
} as typeof fpga;
const inOtherParts = { ...fpga, offers: { ...offers, attach_handles: others } };

const operator: Caller = {
  userId: 'operator',
  projectId: 'admin',
  roles: ['admin'],
  requestId: 'req-1',
  hasServiceToken: false,
};
const world = perFile(startWorld);
let deps: ConsumerDeps;

beforeAll(async () => {
  const server = async () => ({
    projectId: 'demo',
    host: 'compute',
    updatedAt: '2026-06-01T00:00:00Z',
  });
  deps = withClients(world.deps, { nova: { server } });
  await deps.clients.placement.createProvider({ uuid: node, name: cyborgHost });
});

beforeEach(async () => {
  const { placement } = deps.clients;
  await allocate(world, serverOf(1), undefined);
  await placement.deleteProvider(provider);
  const backups = backupStore(createDocuments().documents);
  for (const table of [...Object.values(tables), tableName(stage, 'device-profiles')]) {
    for (const row of (await backups.rows(table)).values()) await backups.delete(table, row);
  }
  await placement.createProvider({ uuid: provider, name: cyborgProviderName, parentUuid: node });
  await placement.putInventories(provider, 0, { FPGA: { total: 4, max_unit: 4 } });
});

async function importOnce(dump: CyborgDump) {
  const read = readTables(xmlOf(dump));
  const now = new Date(deps.clock()).toISOString();
  const plan = planImport(read, await readCloudFacts(deps, read), new Set(), now);
  const imports = importStore(createDocuments().strong, tables);
  return importAll({ ...deps, imports, inform: () => {} }, plan);
}

async function report(...devices: (typeof fpga)[]): Promise<void> {
  await world.report(cyborgHost, devices, {}, deps);
  await syncProviders(deps, provider, 1);
}

async function handles() {
  return (await deps.store.inventory.provider(provider))?.handles ?? [];
}

async function states(): Promise<readonly string[]> {
  return (await handles()).map((handle) => handleStateOf(handle));
}

async function device() {
  return (await deps.store.inventory.host(cyborgHost)).devices[0];
}

async function reserved(): Promise<number | undefined> {
  const held = await deps.clients.placement.getInventories(provider);
  return held?.inventories.FPGA?.reserved;
}

function force(cleanedByHand: boolean) {
  const path = `/v2/devices/${deviceUuid(cyborgHost, fpga.address)}/force_release`;
  return world.ask('POST', path, { body: { reason: 'erased', cleaned: cleanedByHand } });
}

async function incidents() {
  const entries = await readIncidents.quarantine(deps, undefined, 100);
  return entries.flatMap(({ row }) => row ?? []);
}

const four = (state: string) => Array.from({ length: 4 }, () => state);

it('a device is given to no server before its host has cleaned it', async () => {
  await importOnce(unclean);
  expect(await states()).toEqual(four('quarantined'));
  await report(cleaned);
  expect(await states()).toEqual(four('quarantined'));
  expect(await reserved()).toBe(4);
  const [{ release } = {}] = await handles();
  const work = await deps.store.releases.awaited(release ?? '');
  expect(work?.handles).toHaveLength(4);
  if (work) await deps.store.releases.confirm(work, makeChangeNote(deps));
  expect(await states()).toEqual(four('free'));
});

it('a device that its host does not clean waits until an operator states that it is clean', async () => {
  await importOnce(unclean);
  await report(fpga);
  expect(await incidents()).toMatchObject([
    {
      deviceUuid: deviceUuid(cyborgHost, fpga.address),
      reason: expect.stringMatching(/^4 attach handles, imported: .+ pending_cleaning in Cyborg/),
      action: 'force-release',
    },
  ]);
  await report({ ...fpga, model: 'described again' });
  expect(await states()).toEqual(four('quarantined'));
  expect(await reserved()).toBe(4);
  expect((await force(false)).json).toMatchObject({ attach_handles: [], cleaning: [] });
  expect(await states()).toEqual(four('quarantined'));
  expect((await force(true)).json.attach_handles).toHaveLength(4);
  expect(await states()).toEqual(four('free'));
  expect(await incidents()).toEqual([]);
});

it('a device that is offered in other parts is withheld until it is clean', async () => {
  await importOnce(unclean);
  await report(inOtherParts);
  expect((await device())?.health).toMatchObject({ state: 'unhealthy' });
  await report({ ...inOtherParts, model: 'described again' });
  expect((await device())?.health).toMatchObject({ state: 'unhealthy' });
  await force(true);
  await report({ ...inOtherParts, model: 'described a third time' });
  expect((await device())?.health).toBeUndefined();
  expect(await states()).not.toContain('quarantined');
});

it('a device that was away is withheld until it is clean', async () => {
  await importOnce(unclean);
  await report(fpga);
  await report();
  await report(fpga);
  expect(await states()).toEqual(four('quarantined'));
  await report();
  await force(true);
  await syncProviders(deps, provider, 1);
  expect(await device()).toBeUndefined();
});

it('a host whose device is not clean can be forgotten', async () => {
  await importOnce(unclean);
  await report(fpga);
  const later = { ...deps, clock: () => deps.clock() + 3_600_000 };
  await forgetHost(later, operator, cyborgHost);
  await syncProviders(deps, provider, 1);
  expect(await device()).toBeUndefined();
  expect(await handles()).toEqual([]);
});

it('a server gets no handle that an earlier import has found not clean', async () => {
  await importOnce(unclean);
  await allocate(world, serverOf(1), provider);
  const later = importOnce(aCyborg({ servers: 1, state: 'allocated' }));
  await expect(later).rejects.toThrow('an attach handle or accelerator request of it is in use');
  expect(await states()).toEqual(four('quarantined'));
});

it('a device in the state of a server or of none is free after the first report', async () => {
  await importOnce(aCyborg({ servers: 0, state: 'allocated' }));
  await report(fpga);
  expect(await states()).toEqual(four('free'));
});
