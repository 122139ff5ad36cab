import { describe, expect, it } from 'vitest';
import type { AttachHandle } from '#core/domain/device/device.ts';
import type { ArqUuid, InstanceUuid, ReleaseId } from '#core/domain/ids.ts';
import { mayBePool, withholdHeldElsewhere } from '#core/domain/report/withhold-held-elsewhere.ts';
import { aStoredDevice, aStoredHandle } from '#test/support/builders.ts';
import { aDevice, discovered } from '#test/support/reports.ts';

const now = '2026-07-01T00:00:00.000Z';
const pool = discovered(aDevice({ address: 'pool0' }));
const info = pool.offers?.attachHandles[0]?.info ?? {};
const device = aStoredDevice({ address: '0000:0c:00.0' });
const claim = { arqUuid: 'arq' as ArqUuid, instanceUuid: 'instance' as InstanceUuid };

describe('a device with a function of another one', () => {
  it.each<[string, Partial<AttachHandle>, boolean]>([
    ['can still be claimed there', {}, true],
    ['is held there', { isGone: true, claim }, true],
    ['is still being released there', { isGone: true, release: 'r' as ReleaseId }, true],
    ['has left it', { isGone: true }, false],
    ['is another function', { info: { ...info, function: '7' } }, false],
  ])('that %s: withheld %s', (_case, given, isWithheld) => {
    const handles = [aStoredHandle({ info, ...given })];
    const [found] = withholdHeldElsewhere([pool], [{ device, handles }], now);
    expect(found?.health?.state).toBe(isWithheld ? 'unhealthy' : undefined);
    expect(found?.digest).toBe(isWithheld ? '' : pool.digest);
  });

  it('is itself', () => {
    const same = {
      device: aStoredDevice({ address: 'pool0' }),
      handles: [aStoredHandle({ info })],
    };
    expect(withholdHeldElsewhere([pool], [same], now)).toEqual([pool]);
  });

  it('is looked for only where there is a name in place of an address', () => {
    expect(mayBePool([device])).toBe(false);
    expect(mayBePool([device, pool])).toBe(true);
  });
});
