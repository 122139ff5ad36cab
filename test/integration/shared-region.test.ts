// A region of an FPGA with two attach handles, held by two instances: an image for one of them is
// an image for both.

import { beforeEach, describe, expect, it } from 'vitest';
import { RetryLater } from '#core/domain/retry-later.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { aGbs } from '#test/support/hosts/gbs.ts';
import { startFpgaHost } from '#test/support/hosts/recorded/fpga-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const cmp1 = perFile(startFpgaHost);

beforeEach(() => cmp1.bootAfresh());

/** Frees the handles, as the host's confirmation does. */
async function confirmReleases() {
  for (const id of await cmp1.releases()) {
    const release = await cmp1.deps.store.releases.awaited(id);
    if (release) await cmp1.deps.store.releases.confirm(release, makeChangeNote(cmp1.deps));
  }
}

describe('a bind beside another of the same region', () => {
  it("is decided when the other's image is programmed, whatever function it asks for", async () => {
    const image = await cmp1.anImage({}, aGbs());
    const first = await cmp1.started({ 'accel:bitstream_id': image });
    const plain = await cmp1.bind({});
    await expect(cmp1.startBindOf(plain.instance)).rejects.toThrow(RetryLater);
    expect(await cmp1.stateOf(plain.instance)).toBe('BindStarted');
    await cmp1.end('succeeded');
    await cmp1.startBindOf(plain.instance);
    expect([await cmp1.stateOf(first.instance), await cmp1.stateOf(plain.instance)]).toEqual([
      'Bound',
      'Bound',
    ]);
  });

  it('programs no image when the other has claimed its handle meanwhile', async () => {
    const first = await cmp1.bind({ 'accel:bitstream_id': await cmp1.anImage({}, aGbs()) });
    const plain = await cmp1.bind({});
    await cmp1.startBindOf(first.instance);
    expect([cmp1.jobs.size, await cmp1.stateOf(first.instance)]).toEqual([0, 409]);
    expect(await cmp1.stateOf(plain.instance)).toBe('BindStarted');
  });

  it.each([
    ['an image', async () => ({ 'accel:bitstream_id': await cmp1.anImage({}, aGbs()) })],
    ['any image', async () => ({})],
  ])('for %s waits until the host has released the region', async (_what, wish) => {
    const gone = await cmp1.bind({ 'accel:bitstream_id': await cmp1.anImage({}, aGbs()) });
    await cmp1.remove(gone.instance);
    // Its late job may be running, whichever handle it was for.
    const { instance } = await cmp1.bind(await wish());
    await expect(cmp1.startBindOf(instance)).rejects.toThrow(RetryLater);
    expect(cmp1.jobs.size).toBe(0);
    await confirmReleases();
    await cmp1.startBindOf(instance);
    await cmp1.end('succeeded');
    expect(await cmp1.stateOf(instance)).toBe('Bound');
  });
});

describe('a host that reboots', () => {
  /** Two instances with the same image; the one with the lower bind id comes first. */
  async function two(): Promise<[string, string]> {
    const image = await cmp1.anImage({}, aGbs());
    const first = await cmp1.bound({ 'accel:bitstream_id': image });
    await cmp1.boot({ bitstream: image }, { isSameBoot: true });
    const second = await cmp1.bound({ 'accel:bitstream_id': image });
    const ids = [first, second].map(async (instance) => ({
      instance,
      bindId: String((await cmp1.deps.store.arqs.binding(instance))?.bindId),
    }));
    const [low, high] = (await Promise.all(ids)).sort((a, b) => (a.bindId < b.bindId ? -1 : 1));
    return [low?.instance ?? '', high?.instance ?? ''];
  }

  it('has the region programmed once for two instances with one image', async () => {
    const [low, high] = await two();
    await cmp1.boot();
    await expect(cmp1.reprovisionFor(high)).rejects.toThrow(RetryLater);
    // SQS delivers a message at most a few hundred times, and the other may wait long for its
    // image.
    await expect(cmp1.reprovisionFor(high, 9)).rejects.toMatchObject({ seconds: 30 });
    await cmp1.reprovisionFor(low);
    expect(cmp1.theStep().region).toBe('region0');
    await cmp1.end('succeeded');
    cmp1.jobs.clear();
    await cmp1.reprovisionFor(high);
    expect(cmp1.theOnlyStep()).not.toHaveProperty('content.image');
    await cmp1.end('succeeded');
    expect([await cmp1.stateOf(low), await cmp1.stateOf(high)]).toEqual(['Bound', 'Bound']);
  });

  it("programs for the second instance when the first one's image fails", async () => {
    const [low, high] = await two();
    await cmp1.boot();
    await cmp1.reprovisionFor(low);
    await cmp1.end('failed');
    cmp1.jobs.clear();
    await confirmReleases();
    await cmp1.reprovisionFor(high);
    await cmp1.end('succeeded');
    expect([await cmp1.stateOf(low), await cmp1.stateOf(high)]).toEqual([409, 'Bound']);
  });

  it('keeps the region for a lost bind while a new bind waits for it', async () => {
    const first = await cmp1.bound({ 'accel:bitstream_id': await cmp1.anImage({}, aGbs()) });
    await cmp1.boot();
    const { instance } = await cmp1.bind({});
    await expect(cmp1.startBindOf(instance)).rejects.toThrow(RetryLater);
    await expect(cmp1.reprovisionFor(first)).rejects.toThrow(RetryLater);
    await sweep({ ...cmp1.deps, clock: () => Date.now() + 4 * 60_000 });
    expect([await cmp1.stateOf(first), await cmp1.stateOf(instance)]).toEqual([
      'provisioning',
      409,
    ]);
    await confirmReleases();
    await cmp1.reprovisionFor(first);
    expect(cmp1.theStep().region).toBe('region0');
  });

  it('does not reprogram a region of an instance that takes any image', async () => {
    const first = await cmp1.bound({ 'accel:bitstream_id': await cmp1.anImage({}, aGbs()) });
    const plain = await cmp1.bound({});
    await cmp1.boot();
    await cmp1.reprovisionFor(first);
    expect([cmp1.jobs.size, await cmp1.stateOf(first)]).toEqual([0, 409]);
    expect(await cmp1.stateOf(plain)).toBe('Bound');
  });
});
