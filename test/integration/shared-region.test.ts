// A region of an FPGA with two attach handles, held by two instances: programmed for one of them, it is
// programmed for both.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RetryLater } from '#core/domain/retry-later.ts';
import { sweep } from '#core/operations/sweep.ts';
import {
  anImage,
  bind,
  boot,
  bootAfresh,
  bound,
  deps,
  end,
  jobs,
  releases,
  remove,
  reprovisionFor,
  startBindOf,
  startFpgaHost,
  stateOf,
  theOnlyStep,
  theStep,
  world,
} from '#test/support/fpga-host.ts';
import { aGbs } from '#test/support/gbs.ts';

beforeAll(startFpgaHost);
afterAll(() => world.stop());
beforeEach(bootAfresh);

/** Frees the handles, as the host's confirmation does. */
async function confirmReleases() {
  for (const id of await releases()) {
    const release = await deps.store.releases.awaited(id);
    if (release) await deps.store.releases.confirm(release);
  }
}

describe('a bind beside another of the same region', () => {
  it('is decided when the other’s image is in, whatever function it asks for', async () => {
    const image = await anImage({}, aGbs());
    const first = await bind({ 'accel:bitstream_id': image });
    await startBindOf(first.instance);
    const plain = await bind({});
    await expect(startBindOf(plain.instance)).rejects.toThrow(RetryLater);
    expect(await stateOf(plain.instance)).toBe('BindStarted');
    await end('succeeded');
    await startBindOf(plain.instance);
    expect([await stateOf(first.instance), await stateOf(plain.instance)]).toEqual([
      'Bound',
      'Bound',
    ]);
  });

  it('is for no image where the other has claimed its part meanwhile', async () => {
    const first = await bind({ 'accel:bitstream_id': await anImage({}, aGbs()) });
    const plain = await bind({});
    await startBindOf(first.instance);
    expect([jobs.size, await stateOf(first.instance)]).toEqual([0, 409]);
    expect(await stateOf(plain.instance)).toBe('BindStarted');
  });

  it.each([
    ['an image', async () => ({ 'accel:bitstream_id': await anImage({}, aGbs()) })],
    ['the region as it is', async () => ({})],
  ])('of %s waits until the host has done with who was there', async (_what, wish) => {
    const gone = await bind({ 'accel:bitstream_id': await anImage({}, aGbs()) });
    await remove(gone.instance);
    // Its late job may be on its way, whichever handle it was for.
    const { instance } = await bind(await wish());
    await expect(startBindOf(instance)).rejects.toThrow(RetryLater);
    expect(jobs.size).toBe(0);
    await confirmReleases();
    await startBindOf(instance);
    await end('succeeded');
    expect(await stateOf(instance)).toBe('Bound');
  });
});

describe('a host that boots', () => {
  /** Both with the same image; the first is who has the lower bind id. */
  async function two(): Promise<[string, string]> {
    const image = await anImage({}, aGbs());
    const first = await bound({ 'accel:bitstream_id': image });
    await boot({ bitstream: image }, { isSameBoot: true });
    const second = await bound({ 'accel:bitstream_id': image });
    const ids = [first, second].map(async (instance) => ({
      instance,
      bindId: String((await deps.store.arqs.binding(instance))?.bindId),
    }));
    const [low, high] = (await Promise.all(ids)).sort((a, b) => (a.bindId < b.bindId ? -1 : 1));
    return [low?.instance ?? '', high?.instance ?? ''];
  }

  it('has the region programmed once for two instances with one image', async () => {
    const [low, high] = await two();
    await boot();
    await expect(reprovisionFor(high)).rejects.toThrow(RetryLater);
    // Messages come again a few hundred times, and the other may wait for its image for long.
    await expect(reprovisionFor(high, 9)).rejects.toMatchObject({ seconds: 30 });
    await reprovisionFor(low);
    expect(theStep().region).toBe('region0');
    await end('succeeded');
    jobs.clear();
    await reprovisionFor(high);
    expect(theOnlyStep()).toMatchObject({ kind: 'check-region' });
    await end('succeeded');
    expect([await stateOf(low), await stateOf(high)]).toEqual(['Bound', 'Bound']);
  });

  it('goes on to the second where the first’s image does not come in', async () => {
    const [low, high] = await two();
    await boot();
    await reprovisionFor(low);
    await end('failed');
    jobs.clear();
    await confirmReleases();
    await reprovisionFor(high);
    await end('succeeded');
    expect([await stateOf(low), await stateOf(high)]).toEqual([409, 'Bound']);
  });

  it('takes it from nobody for one that comes and waits for it', async () => {
    const first = await bound({ 'accel:bitstream_id': await anImage({}, aGbs()) });
    await boot();
    const { instance } = await bind({});
    await expect(startBindOf(instance)).rejects.toThrow(RetryLater);
    await expect(reprovisionFor(first)).rejects.toThrow(RetryLater);
    await sweep({ ...deps, clock: () => Date.now() + 4 * 60_000 });
    expect([await stateOf(first), await stateOf(instance)]).toEqual(['provisioning', 409]);
    await confirmReleases();
    await reprovisionFor(first);
    expect(theStep().region).toBe('region0');
  });

  it('does not program below an instance that wants it as it is', async () => {
    const first = await bound({ 'accel:bitstream_id': await anImage({}, aGbs()) });
    const plain = await bound({});
    await boot();
    await reprovisionFor(first);
    expect([jobs.size, await stateOf(first)]).toEqual([0, 409]);
    expect(await stateOf(plain)).toBe('Bound');
  });
});
