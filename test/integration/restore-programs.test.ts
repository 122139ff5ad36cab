// A backup is put back while a host has a region of an FPGA: what is programmed into it then, and what is
// not. Its jobs are noted here; DynamoDB, the API and the operations are real.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RetryLater } from '#core/domain/retry-later.ts';
import { type Backups, createBackups } from '#test/support/backup.ts';
import {
  anImage,
  boot,
  bootAfresh,
  bound,
  deps,
  end,
  jobs,
  nextReport,
  receive,
  region,
  releases,
  remove,
  reprovisionFor,
  startAwaited,
  startFpgaHost,
  stateOf,
  theStep,
  world,
} from '#test/support/fpga-host.ts';
import { aGbs } from '#test/support/gbs.ts';
import { stage } from '#test/support/world.ts';

let backups: Backups;

beforeAll(async () => {
  await startFpgaHost();
  backups = createBackups(stage);
});
afterAll(() => world.stop());
beforeEach(async () => {
  await trust();
  await bootAfresh();
});

/** Until its host has said what it holds, and afterwards. */
async function restore(bitstream: string): Promise<void> {
  await backups.restore();
  await receive(nextReport({ bitstream }, { isSameBoot: true }));
}

/** Nobody else has anything of it, as Placement knows or an operator has seen. */
async function trust(): Promise<void> {
  const provider = await deps?.store.inventory.provider(region);
  for (const handle of provider?.handles ?? []) {
    if (handle.restoredAt) await deps.store.releases.trust(handle);
  }
}

const anotherImage = () => anImage({}, aGbs());

async function boundWith(image: string): Promise<string> {
  return bound({ 'accel:bitstream_id': image });
}

describe('after a backup was put back', () => {
  it('what an operator wanted in a region then is not programmed below whoever has it now', async () => {
    const uuid = (await deps.store.inventory.provider(region))?.deployable.uuid;
    const { status } = await world.ask('PATCH', `/v2/deployables/${uuid}/program`, {
      token: 'admin-token',
      body: [{ path: '/program', op: 'replace', value: [{ image_uuid: await anotherImage() }] }],
    });
    const [id = ''] = await releases();
    await backups.take();
    const release = await deps.store.releases.awaited(id);
    if (release) await deps.store.releases.confirm(release);
    const image = await anotherImage();
    await boundWith(image);
    await restore(image);
    await startAwaited(deps, id);
    expect([status, [...jobs.values()], await releases()]).toEqual([200, [], []]);
  });

  it('what a boot since then took away is not programmed below whoever has it now', async () => {
    const first = await anotherImage();
    const instance = await boundWith(first);
    await backups.take();
    await boot({ bitstream: first });
    await remove(instance);
    const second = await anotherImage();
    await boundWith(second);
    await restore(second);
    expect(await stateOf(instance)).toBe('provisioning');
    await expect(reprovisionFor(instance)).rejects.toThrow(RetryLater);
    expect([...jobs.values()]).toEqual([]);

    // It is nobody else's.
    await trust();
    await reprovisionFor(instance);
    expect(theStep().image.id).toBe(first);
    await end('succeeded');
    expect(await stateOf(instance)).toBe('Bound');
  });
});
