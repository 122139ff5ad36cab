// A restore from a backup while a host has a region of an FPGA: what is programmed into it
// afterwards, and what not. The test records its jobs; DynamoDB, the API and the operations are
// real.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RetryLater } from '#core/domain/retry-later.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { type Backups, createBackups } from '#test/support/aws/backup.ts';
import { aGbs } from '#test/support/hosts/gbs.ts';
import { region, startFpgaHost } from '#test/support/hosts/recorded/fpga-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage } from '#test/support/world.ts';

const cmp1 = perFile(startFpgaHost);

let backups: Backups;

beforeAll(() => {
  backups = createBackups(stage);
});

beforeEach(async () => {
  await trust();
  await cmp1.bootAfresh();
});

/** Before and after the host has reported what the region holds. */
async function restore(bitstream: string): Promise<void> {
  await backups.restore();
  await cmp1.receive(cmp1.nextReport({ bitstream }, { isSameBoot: true }));
}

/** No other consumer has the region, by Placement or by an operator's word. */
async function trust(): Promise<void> {
  const provider = await cmp1.deps?.store.inventory.provider(region);
  for (const handle of provider?.handles ?? []) {
    if (handle.restoredAt)
      await cmp1.deps.store.releases.reinstate(handle, makeChangeNote(cmp1.deps));
  }
}

const anotherImage = () => cmp1.anImage({}, aGbs());

async function boundWith(image: string): Promise<string> {
  return cmp1.bound({ 'accel:bitstream_id': image });
}

describe('after a restore', () => {
  it('a region gets no program of an operator while another instance may have it', async () => {
    const uuid = (await cmp1.deps.store.inventory.provider(region))?.deployable.uuid;
    const { status } = await cmp1.world.ask('PATCH', `/v2/deployables/${uuid}/program`, {
      token: 'admin-token',
      body: [{ path: '/program', op: 'replace', value: [{ image_uuid: await anotherImage() }] }],
    });
    const [id = ''] = await cmp1.releases();
    await backups.take();
    const release = await cmp1.deps.store.releases.awaited(id);
    if (release) await cmp1.deps.store.releases.confirm(release, makeChangeNote(cmp1.deps));
    const image = await anotherImage();
    await boundWith(image);
    await restore(image);
    await cmp1.startAwaited(cmp1.deps, id);
    expect([status, [...cmp1.jobs.values()], await cmp1.releases()]).toEqual([200, [], []]);
  });

  it('a region is not reprovisioned while another instance may have it', async () => {
    const first = await anotherImage();
    const instance = await boundWith(first);
    await backups.take();
    await cmp1.boot({ bitstream: first });
    await cmp1.remove(instance);
    const second = await anotherImage();
    await boundWith(second);
    await restore(second);
    expect(await cmp1.stateOf(instance)).toBe('provisioning');
    await expect(cmp1.reprovisionFor(instance)).rejects.toThrow(RetryLater);
    expect([...cmp1.jobs.values()]).toEqual([]);

    // No other instance has it.
    await trust();
    await cmp1.reprovisionFor(instance);
    expect(cmp1.theStep().image.id).toBe(first);
    await cmp1.end('succeeded');
    expect(await cmp1.stateOf(instance)).toBe('Bound');
  });
});
