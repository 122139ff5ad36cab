// A cloned compute node: two agents with one identity report as one host, and each ends the
// other's connection. The test records the agents' jobs; everything else is real.

import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, it } from 'vitest';
import type { InventoryReport } from '#core/contracts/report/inventory-report.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { wantedProviders } from '#core/domain/placement/provider-tree.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { endConflict } from '#core/operations/hosts/end-conflict.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { startRelease } from '#core/operations/release/start-release.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { hostKey } from '#core/store/rows/rows.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { tableName } from '#core/store/table/tables.ts';
import { aJobEnd, bootIdOf, numberedUuid } from '#test/support/builders.ts';
import { withStore } from '#test/support/deps.ts';
import { gpu, minutes, provider, startVgpuHost } from '#test/support/hosts/recorded/vgpu-host.ts';
import { aReport, hasSettled } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage } from '#test/support/world.ts';

const cmp1 = perFile(startVgpuHost);

beforeEach(async () => {
  await forgetHost();
  await cmp1.bootAfresh();
  // Tests that look ahead have stored a boot minutes later.
  await hasSettled(cmp1.deps, 'cmp1');
  clone += 1;
  receivedMs = Date.now() + cmp1.counts.boots;
});

const seconds = 1000;
let clone = 0;

/** Counts all reports here, so that each is received after the one before. */
let receivedMs = 0;

const original = () => bootIdOf(cmp1.counts.boots);
const cloned = () => numberedUuid('cccccccc', clone);

interface Said extends Partial<InventoryReport> {
  /** Time of a report after the one before. */
  readonly afterMs?: number;
}

/** Delivers the messages of the queue once; those that must be retried stay. */
async function says(boot_id: string, { afterMs = 1000, ...given }: Said = {}, devices = [gpu]) {
  cmp1.counts.sequence += 1;
  receivedMs += afterMs;
  const report = aReport(devices, { boot_id, sequence: cmp1.counts.sequence, ...given });
  const again = (later = cmp1.deps) => applyReport(later, 'cmp1', report, receivedMs);
  await again().catch((error: unknown) => {
    if (!(error instanceof RetryLater)) throw error;
  });
  await cmp1.reprovisionAll();
  return again;
}

async function conflict() {
  return (await cmp1.deps.store.inventory.host('cmp1')).host.conflict;
}

/** Deletes all rows of the host, so that no test sees the boots of another. */
async function forgetHost(): Promise<void> {
  await createDocuments().documents.send(
    new DeleteCommand({ TableName: tableName(stage, 'inventory'), Key: hostKey('cmp1') }),
  );
}

async function bothSay(): Promise<void> {
  await says(cloned());
  await says(original());
}

async function inConflict() {
  const made = await cmp1.bound();
  await bothSay();
  return made;
}

describe('a boot id that was replaced and returns', () => {
  it('is a conflict: binds are unknown, and keep their handles', async () => {
    const { instance } = await cmp1.bound();
    const before = await cmp1.handles();
    for (let turn = 1; turn <= 4; turn++) await bothSay();
    expect(cmp1.jobs.size).toBe(0);
    expect(await cmp1.handles()).toEqual(before);
    expect((await cmp1.deps.store.arqs.binding(instance))?.state).toBe('Bound');
    expect(await cmp1.stateOf(instance)).toBe('unknown');
    expect((await conflict())?.boots.map(({ bootId }) => bootId).sort()).toEqual(
      [original(), cloned()].sort(),
    );
  });

  it('takes away no device that the clone lacks', async () => {
    await cmp1.bound();
    const before = await cmp1.handles();
    await says(cloned(), {}, []);
    await says(original());
    expect(await cmp1.handles()).toEqual(before);
    expect((await cmp1.deps.store.inventory.host('cmp1')).devices[0]?.isGone).toBe(false);
  });

  it('frees no handle that waits to be cleaned up', async () => {
    const { instance } = await cmp1.bound();
    await cmp1.remove(instance);
    await says(cloned());
    await expect(cmp1.startReleases()).rejects.toThrow('has just booted');
    await says(original());
    await cmp1.startReleases();
    expect(cmp1.jobs.size).toBe(0);
    await sweep({ ...cmp1.deps, clock: () => Date.now() + 10 * minutes });
    expect(
      (await cmp1.handles()).filter(({ release, quarantine }) => release && quarantine),
    ).toHaveLength(1);
  });

  it('makes the end of a cleaning job worthless', async () => {
    await cmp1.releasing();
    await bothSay();
    await cmp1.end('release');
    expect((await cmp1.handles()).filter(({ quarantine }) => quarantine)).toHaveLength(1);
  });

  it('leaves ARQs that are being reprovisioned unchanged', async () => {
    const { instance } = await cmp1.bound();
    const again = await says(cloned());
    await again({ ...cmp1.deps, clock: () => Date.now() + minutes });
    await cmp1.reprovisionAll();
    expect((await cmp1.deps.store.arqs.binding(instance))?.state).toBe('provisioning');
    await says(original());
    await cmp1.end('reprovision', 'rejected', {
      reason: 'The document is for another boot of this host.',
    });
    expect((await cmp1.deps.store.arqs.binding(instance))?.state).toBe('provisioning');
    expect((await cmp1.handles()).filter(({ claim }) => claim)).toHaveLength(1);
    expect(await cmp1.stateOf(instance)).toBe('unknown');
  });

  it('refuses new binds with a reason, and fails the started ones', async () => {
    const begun = await cmp1.bind();
    await bothSay();
    expect(await cmp1.bind()).toMatchObject({
      status: 409,
      error: expect.stringContaining('Two agents report as host cmp1'),
    });
    await cmp1.startBindOf(begun.instance);
    expect(await cmp1.stateOf(begun.instance)).toBe(409);
    expect((await cmp1.handles()).filter(({ release }) => release)).toHaveLength(1);
  });

  it('has Placement reserve all devices of the host', async () => {
    await inConflict();
    const [device] = (await cmp1.deps.store.inventory.host('cmp1')).devices;
    const region = await cmp1.deps.store.inventory.provider(provider);
    if (!device || !region) throw new Error('The device is gone.');
    const wanted = wantedProviders(device, [region], cmp1.deps.settings);
    expect(wanted.flatMap(({ inventories }) => Object.values(inventories))).toMatchObject([
      { total: 3, reserved: 3 },
    ]);
  });

  it('is noticed although the consumer dies before the devices are quarantined', async () => {
    await cmp1.bound();
    await says(cloned());
    const { inventory } = cmp1.deps.store;
    const markConflict = () => Promise.reject(new Error('killed'));
    const dying = withStore(cmp1.deps, { inventory: { markConflict } });
    const report = aReport([gpu], { boot_id: original(), sequence: cmp1.counts.sequence + 1 });
    const receivedAt = receivedMs + seconds;
    await expect(applyReport(dying, 'cmp1', report, receivedAt)).rejects.toThrow('killed');
    await applyReport(cmp1.deps, 'cmp1', report, receivedAt);
    expect((await inventory.host('cmp1')).devices[0]?.conflictSince).toBe(
      (await conflict())?.since,
    );
  });

  it('marks a device and its deployables at once, or none of them', async () => {
    const { inventory } = cmp1.deps.store;
    const [device] = (await inventory.host('cmp1')).devices;
    const stored = await inventory.provider(provider);
    if (!device || !stored) throw new Error('The device is gone.');
    const deleted = { ...stored.deployable, providerUuid: providerUuid('deleted') };
    const since = new Date().toISOString();
    expect(await inventory.markConflict(device, [stored.deployable, deleted], since)).toBe(false);
    expect((await inventory.host('cmp1')).devices[0]?.conflictSince).toBeUndefined();
    expect((await inventory.provider(provider))?.deployable.conflictSince).toBeUndefined();
  });
});

describe('a late report of a replaced boot', () => {
  it('starts no conflict when the broker received it before the boot', async () => {
    const sequence = cmp1.counts.sequence + 1;
    await says(cloned(), { sequence: sequence + 1 });
    const late = aReport([gpu], { boot_id: original(), sequence });
    await applyReport(cmp1.deps, 'cmp1', late, receivedMs - 1);
    expect(await conflict()).toBeUndefined();
  });

  it('starts no conflict when it was applied already, however late it is repeated', async () => {
    const { sequence } = (await cmp1.deps.store.inventory.host('cmp1')).host;
    await says(cloned());
    await says(original(), { sequence, afterMs: 60 * minutes });
    expect(await conflict()).toBeUndefined();
  });

  it.each([
    ['within a minute of the boot, no conflict', 30 * seconds, false],
    ['later than that, a conflict', 90 * seconds, true],
  ])('made before the boot and received after it: %s', async (_case, afterMs, isConflict) => {
    const made = cmp1.counts.sequence + 1;
    await says(cloned(), { sequence: made + 1 });
    await says(original(), { sequence: made, afterMs });
    expect((await conflict()) !== undefined).toBe(isConflict);
  });

  it('delays only what follows from the boot', async () => {
    const { instance } = await cmp1.bound();
    const again = await says(cloned());
    expect((await cmp1.deps.store.arqs.binding(instance))?.state).toBe('Bound');
    expect(await cmp1.stateOf(instance)).toBe('provisioning');
    await again({ ...cmp1.deps, clock: () => Date.now() + minutes });
    await cmp1.reprovisionAll();
    expect([...cmp1.jobs.values()]).toMatchObject([{ action: 'reprovision', boot_id: cloned() }]);
  });
});

describe('a rejected job', () => {
  it('waits once for the report that may explain it', async () => {
    const { instance } = await cmp1.started();
    const [jobId = ''] = [...cmp1.jobs.keys()];
    expect(jobId).toContain(`${stage}-bind-`);
    const statusDetails = { reason: 'The document is for another boot of this host.' };
    const rejected = aJobEnd(jobId, { operation: 'rejected', statusDetails });
    await expect(finishJob(cmp1.deps, rejected, 1)).rejects.toBeInstanceOf(RetryLater);
    await finishJob(cmp1.deps, rejected, 2);
    expect(await cmp1.stateOf(instance)).toBe(409);
  });
});

describe('the end of a conflict by an operator', () => {
  const later = () => ({ ...cmp1.deps, clock: () => receivedMs + 22 * minutes });

  it('is refused while the other agent reports', async () => {
    await inConflict();
    const now = { ...cmp1.deps, clock: () => receivedMs + minutes };
    await expect(endConflict(now, 'cmp1', original())).rejects.toThrow(`Boot ${cloned()} has`);
    await expect(endConflict(later(), 'cmp1', stage)).rejects.toThrow('these have: ');
    await expect(endConflict(cmp1.deps, 'cmp2', original())).rejects.toThrow('no conflict');
    expect(await conflict()).toBeDefined();
  });

  it("restores what the host's own agent reports", async () => {
    const { instance } = await inConflict();
    await endConflict(later(), 'cmp1', original());
    await says(original(), { afterMs: 23 * minutes });
    expect(await cmp1.stateOf(instance)).toBe('Bound');
    expect((await cmp1.deps.store.inventory.host('cmp1')).devices[0]).not.toHaveProperty(
      'conflictSince',
    );
    expect((await cmp1.bind()).status).toBe(202);
  });

  it("has the clone's jobs done again on the host", async () => {
    const { instance } = await cmp1.bound();
    const again = await says(cloned());
    await again({ ...cmp1.deps, clock: () => Date.now() + minutes });
    await cmp1.reprovisionAll();
    await cmp1.end('reprovision');
    expect((await cmp1.deps.store.arqs.binding(instance))?.bootId).toBe(cloned());
    await says(original());
    await endConflict(later(), 'cmp1', original());
    await says(original(), { afterMs: 23 * minutes });
    expect([...cmp1.jobs.values()]).toMatchObject([{ action: 'reprovision', boot_id: original() }]);
    await cmp1.end('reprovision');
    expect(await cmp1.stateOf(instance)).toBe('Bound');
  });

  it('has that agent clean up a release that began before', async () => {
    const { instance } = await cmp1.bound();
    await cmp1.remove(instance);
    await bothSay();
    await endConflict(later(), 'cmp1', original());
    await says(original(), { afterMs: 23 * minutes });
    const [waiting] = (await cmp1.handles()).filter(({ release }) => release);
    await startRelease(cmp1.deps, waiting?.release ?? '');
    expect([...cmp1.jobs.values()]).toMatchObject([{ action: 'release', boot_id: original() }]);
  });

  it('starts again with the next report of the clone', async () => {
    await inConflict();
    await endConflict(later(), 'cmp1', original());
    await says(cloned(), { afterMs: 23 * minutes });
    expect(await conflict()).toBeDefined();
  });
});
