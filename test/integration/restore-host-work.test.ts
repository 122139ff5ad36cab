// A restore from a backup while a host has vGPUs: what the host is asked to do, and what not. The
// test records its jobs; DynamoDB, Placement, the API and the operations are real.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { deviceUuid } from '#core/domain/report/device-plan.ts';
import { reinstateHandles } from '#core/operations/restore/reinstate-handles.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { tableName } from '#core/store/table/tables.ts';
import { type Backups, createBackups } from '#test/support/aws/backup.ts';
import { numberedUuid } from '#test/support/builders.ts';
import { withStore } from '#test/support/deps.ts';
import { gpu, minutes, provider, startVgpuHost } from '#test/support/hosts/recorded/vgpu-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage } from '#test/support/world.ts';

const cmp1 = perFile(startVgpuHost);

let backups: Backups;

beforeAll(() => {
  // Boots of this host are this far ahead, so that its handles get these first epochs.
  backups = createBackups(stage, () => Date.now() + 10 * minutes);
});

beforeEach(async () => {
  await cmp1.bootAfresh();
  await reinstate();
  await cmp1.startReleases();
  if (cmp1.jobs.size > 0) await cmp1.end('release');
});

/** State before anything has happened on the host. */
async function report(devices = [gpu], by: ConsumerDeps = cmp1.deps): Promise<void> {
  await cmp1.report(devices, {}, by);
  await cmp1.reprovisionAll();
}

/** Placement allocates nothing to any consumer here. */
async function reinstate(): Promise<void> {
  const { devices } = await cmp1.deps.store.inventory.host('cmp1');
  const stored = await cmp1.deps.store.inventory.provider(provider);
  for (const device of devices) await reinstateHandles(cmp1.deps, device, stored ? [stored] : []);
}

async function force(word: object = {}) {
  const path = `/v2/devices/${deviceUuid('cmp1', gpu.address)}/force_release`;
  return (await cmp1.world.ask('POST', path, { body: { reason: 'looked at it', ...word } })).json;
}

/** Delivers the handle by a job that its host does after a boot. */
async function isMadeAgain(instance: string): Promise<void> {
  expect(await cmp1.stateOf(instance)).toBe('provisioning');
  await cmp1.end('reprovision');
  expect(await cmp1.stateOf(instance)).toBe('Bound');
}

describe('after a restore', () => {
  it('a release leaves a vGPU alone that may belong to another instance', async () => {
    const { instance } = await cmp1.bound();
    await backups.take();
    await backups.restore();
    await report();
    expect(await cmp1.remove(instance)).toBe(204);
    await cmp1.startReleases();
    expect([...cmp1.jobs.values()]).toEqual([]);
    expect((await cmp1.handles()).filter(({ claim, release }) => claim || release)).toEqual([]);

    // No instance holds it.
    await reinstate();
    await cmp1.startReleases();
    expect(
      [...cmp1.jobs.values()].flatMap((job) => ('steps' in job ? job.steps : [])),
    ).toHaveLength(3);
  });

  it('a vGPU that the host may have made is removed first, even if an admin frees it by force', async () => {
    await backups.take();
    await cmp1.bound();
    await backups.restore();
    const { device_uuid, attach_handles } = await force();
    expect([device_uuid, attach_handles]).toEqual([deviceUuid('cmp1', gpu.address), []]);
    await cmp1.startReleases();
    const steps = [...cmp1.jobs.values()].flatMap((job) => ('steps' in job ? job.steps : []));
    expect(steps.map(({ kind }) => kind)).toEqual(['clean', 'clean', 'clean']);
    await cmp1.end('release');
    expect(
      (await cmp1.handles()).filter(({ release, restoredAt }) => release || restoredAt),
    ).toEqual([]);
  });

  it('a vGPU that an admin has cleaned is free while its host does not answer', async () => {
    await backups.take();
    await backups.restore();
    await force();
    await sweep({ ...cmp1.deps, clock: () => Date.now() + 10 * minutes });
    expect((await force({ cleaned: true })).attach_handles).toHaveLength(3);
    expect((await cmp1.handles()).filter(({ quarantine }) => quarantine)).toEqual([]);
  });

  it('a started bind does not prepare a vGPU that may belong to another instance', async () => {
    const { instance } = await cmp1.bind();
    await backups.take();
    await backups.restore();
    await cmp1.startBindOf(instance);
    expect([...cmp1.jobs.values()]).toEqual([]);
    expect(await cmp1.stateOf(instance)).toBe(409);
  });

  it('a vGPU that was lost in a reboot after the backup is reprovisioned', async () => {
    const { instance } = await cmp1.bound();
    await backups.take();
    await cmp1.boot();
    await isMadeAgain(instance);
    await backups.restore();
    await report();
    await isMadeAgain(instance);
  });

  it('a vGPU that was lost in a reboot before the backup is reprovisioned', async () => {
    const { instance } = await cmp1.bound();
    const { host } = await cmp1.deps.store.inventory.host('cmp1');
    cmp1.counts.boots += 1;
    const bootId = numberedUuid('cccccccc', cmp1.counts.boots);
    const booted = { ...host, bootId, epoch: host.epoch + 1, isReprovisioning: true };
    await cmp1.underLease((holder) => cmp1.deps.store.inventory.putBoot(booted, holder));
    await backups.take();
    await report();
    await isMadeAgain(instance);
    await backups.restore();
    await report();
    await isMadeAgain(instance);
  });

  it('a device that returns while its rows are deleted is withheld', async () => {
    const { instance } = await cmp1.bound();
    await report([]);
    await backups.take();
    await backups.restore();
    expect(await cmp1.handles()).toMatchObject([{ isGone: true }]);
    const { inventory } = cmp1.deps.store;
    const putDevice: typeof inventory.putDevice = async (...device) => {
      await cmp1.remove(instance);
      await cmp1.startReleases();
      await inventory.deleteGoneHandles(await cmp1.handles());
      expect(await cmp1.handles()).toEqual([]);
      await inventory.putDevice(...device);
    };
    await report([gpu], withStore(cmp1.deps, { inventory: { putDevice } }));
    const withheld = { restoredAt: backups.moment(), isGone: false };
    expect(await cmp1.handles()).toMatchObject([withheld, withheld, withheld]);
  });

  it('a handle is claimed by the ARQ in the backup, and waits for nothing that is missing there', async () => {
    const { arq, instance } = await cmp1.bound();
    const other = await cmp1.bound();
    await backups.take();
    const [arqs, inventory] = (['arqs', 'inventory'] as const).map(
      (table) => `${tableName(stage, table)}-${backups.suffix()}`,
    ) as [string, string];
    for (const row of (await backups.store.rows(arqs)).values()) {
      if (row.uuid === other.arq || row.instance_uuid === other.instance) {
        await backups.store.delete(arqs, row);
      }
    }
    for (const row of (await backups.store.rows(inventory)).values()) {
      if (row.arq_uuid !== arq) continue;
      const { arq_uuid: _, instance_uuid: __, ...unclaimed } = row;
      await backups.store.put(inventory, {
        ...unclaimed,
        release_id: 'none',
        quarantine: 'was never',
      });
    }
    await backups.restore();
    const claims = (await cmp1.handles()).flatMap(({ claim }) => claim ?? []);
    expect(claims).toMatchObject([
      { arqUuid: arq, instanceUuid: instance, facts: { hostname: 'cmp1', profileName: 'vgpu' } },
    ]);
    expect(
      (await cmp1.handles()).filter(({ release, quarantine }) => release || quarantine),
    ).toEqual([]);
  });

  it("an ARQ without its instance's row, or the row without the ARQ, holds nothing", async () => {
    const lacking = { instance: await cmp1.bound(), arq: await cmp1.bound() };
    await backups.take();
    const arqs = `${tableName(stage, 'arqs')}-${backups.suffix()}`;
    for (const row of (await backups.store.rows(arqs)).values()) {
      const isLost =
        row.pk === `INSTANCE#${lacking.instance.instance}` || row.uuid === lacking.arq.arq;
      if (isLost) await backups.store.delete(arqs, row);
    }
    await backups.restore();
    const { status } = await cmp1.world.asNova(
      'DELETE',
      `/v2/accelerator_requests?arqs=${lacking.instance.arq}`,
    );
    expect(status).toBe(404);
    expect((await cmp1.handles()).filter(({ claim }) => claim)).toEqual([]);
    // Nova may have bound it again.
    expect(await cmp1.deps.store.arqs.binding(lacking.arq.instance)).toBeUndefined();
  });

  it('an epoch is above all that the host remembers, even if our rows were lost', async () => {
    await backups.take();
    const { instance } = await cmp1.bound();
    await cmp1.remove(instance);
    const known = (await cmp1.handles()).map(({ epoch }) => epoch);
    const inventory = tableName(stage, 'inventory');
    for (const row of (await backups.store.rows(inventory)).values())
      await backups.store.delete(inventory, row);
    await backups.restore();
    for (const { epoch } of await cmp1.handles()) expect(epoch).toBeGreaterThan(Math.max(...known));
  });
});
