// A stage whose rows are lost and of which there is no copy, as in docs/another-region.md: servers
// run with devices that no row names, and no other server gets one of them.

import { beforeAll, expect, it } from 'vitest';
import type { AttachHandle } from '#core/domain/device/device.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { compareHost } from '#core/operations/placement/compare-host.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { backupStore } from '#core/store/backups/backups.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { type TableName, tableName } from '#core/store/table/tables.ts';
import { run } from '#test/agent/agent-process.ts';
import { aDevice, aGpu, aHandle, aReport } from '#test/support/reports.ts';
import { allocate } from '#test/support/stored/allocations.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld } from '#test/support/world.ts';

const host = 'cmp1';
const single = (address: string, suffix: string, handle: number) =>
  aDevice({
    address,
    provider_suffix: suffix,
    offers: { resource_class: 'FPGA', traits: [], attach_handles: [aHandle(handle, 'PCI')] },
  });
const held = single('0000:0f:00.0', 'Held', 40);
const free = single('0000:1f:00.0', 'Free', 41);
const shared = aDevice({ handles: 3 });
const gpu = aGpu(
  [1, 2].map((index) => {
    return { domain: '0000', bus: '0e', asked_type: 'fake-1', vgpu_mark: `fake-1_${index}` };
  }),
);
const devices = [held, free, shared, gpu];
const providers = {
  held: providerUuid(`${host}_Held`),
  free: providerUuid(`${host}_Free`),
  shared: providerUuid(`${host}_FakeDevice`),
  gpu: providerUuid(`${host}_Gpu`),
};
type Name = keyof typeof providers;

/** Servers that run since before the rows were lost. */
const running = {
  held: 'aaaaaaaa-0000-4000-8000-000000000001',
  shared: 'aaaaaaaa-0000-4000-8000-000000000002',
};
const world = perFile(startWorld);
let instances = 10;

beforeAll(async () => {
  const { placement } = world.deps.clients;
  await placement.createProvider({ uuid: '00000000-0000-4000-8000-00000000c0de', name: host });
  await report(1);
  await sync();
  for (const [name, instance] of Object.entries(running)) {
    expect(await allocate(world, instance, providers[name as Name])).toBe(204);
  }
});

async function report(sequence: number): Promise<void> {
  await applyReport(world.deps, host, aReport(devices, { sequence }), Date.now());
}

async function sync(): Promise<void> {
  for (const provider of Object.values(providers)) await syncProviders(world.deps, provider, 1);
}

async function restore(...options: readonly string[]): Promise<[number | null, string]> {
  const words = ['restore', '--stage', stage, '--without-backup', ...options];
  const command = run('operate/cyborg-ops.ts', process.env as Record<string, string>, words);
  return [await command.exited(), command.output()];
}

async function handlesOf(name: Name): Promise<readonly AttachHandle[]> {
  return (await world.deps.store.inventory.provider(providers[name]))?.handles ?? [];
}

async function withheld(name: Name): Promise<number> {
  return (await handlesOf(name)).filter(({ restoredAt }) => restoredAt).length;
}

async function bind(name: Name): Promise<number> {
  const arqs = await world.createArqs('fpga');
  instances += 1;
  const instance = `aaaaaaaa-0000-4000-8000-${String(instances).padStart(12, '0')}`;
  return (await world.bindArqs(arqs, { host, provider: providers[name], instance })).status;
}

it('gives no device of a running server to another one, and every other device again', async () => {
  const before = await handlesOf('gpu');
  const tables = backupStore(createDocuments().documents);
  for (const table of ['arqs', 'inventory', 'device-profiles'] satisfies TableName[]) {
    const name = tableName(stage, table);
    for (const row of (await tables.rows(name)).values()) await tables.delete(name, row);
  }

  expect(await restore()).toEqual([
    0,
    expect.stringMatching(/0 handles would be withheld.*\nNothing was written/),
  ]);
  expect(await restore('--apply')).toEqual([
    0,
    expect.stringContaining('No handle can be claimed'),
  ]);
  await world.createProfile('fpga', { 'resources:FPGA': '1' });
  await report(2);
  expect(await Promise.all((['held', 'free', 'shared', 'gpu'] as const).map(withheld))).toEqual([
    ...[1, 1, 3, 2],
  ]);
  expect(await bind('free')).toBe(409);

  await sync();
  // The host first removes mdevs that instances may have had; they have the uuids of before.
  expect((await handlesOf('gpu')).map(({ uuid }) => uuid)).toEqual(before.map(({ uuid }) => uuid));
  const [id] = (await handlesOf('gpu')).flatMap(({ release }) => release ?? []);
  const release = await world.deps.store.releases.awaited(id ?? '');
  expect(release?.handles).toHaveLength(2);
  if (release) await world.deps.store.releases.confirm(release, makeChangeNote(world.deps));
  expect(await bind('free')).toBe(202);
  expect(await bind('held')).toBe(409);
  // Nothing says which of a provider's handles the server has.
  expect(await bind('shared')).toBe(409);
  const rows = await compareHost(world.deps, host);
  const differing = rows.filter(({ placement }) => /allocated without a request/.test(placement));
  expect(
    differing.map(({ provider, placement }) => [provider, placement.split(': ').at(-1)]),
  ).toEqual(
    expect.arrayContaining([
      [`${host}_Held`, running.held],
      [`${host}_FakeDevice`, running.shared],
    ]),
  );
  expect(differing).toHaveLength(2);

  for (const instance of Object.values(running)) {
    expect(await allocate(world, instance, undefined)).toBe(204);
  }
  await sync();
  expect([await bind('held'), await bind('shared'), await bind('shared')]).toEqual([
    ...[202, 202, 202],
  ]);
});

it('withholds handles of a stage that has rows, too', async () => {
  expect(await restore('--apply')).toEqual([0, expect.stringContaining('7 handles are withheld')]);
  expect(await withheld('shared')).toBe(3);
});
