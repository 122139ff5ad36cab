import { describe, expect, it } from 'vitest';
import type { Device } from '#core/domain/device/device.ts';
import { planDevice } from '#core/domain/report/device-plan.ts';
import { movedDevices } from '#core/domain/report/moved-devices.ts';
import { aDevice, discovered } from '#test/support/reports.ts';

const [slotA, slotB] = ['0000:3b:00.0', '0000:af:00.0'];

function card(address: string, identity?: string) {
  return discovered(
    aDevice({ address, provider_suffix: undefined, ...(identity && { identity }) }),
  );
}

function stored(address: string, identity?: string, given: Partial<Device> = {}): Device {
  const now = '2026-07-01T00:00:00.000Z';
  return { ...planDevice('cmp1', undefined, card(address, identity), now).device, ...given };
}

/** The addresses before, by those in the report. */
function moves(
  put: readonly ReturnType<typeof card>[],
  devices: readonly Device[],
  retire: readonly Device[] = [],
) {
  const found = movedDevices({ put, retire }, devices);
  return Object.fromEntries(found.map(({ address, from }) => [address, from.address]));
}

describe('a card counts as moved', () => {
  it('when its earlier slot is empty in the same report, or has been for long', () => {
    const before = stored(slotA, 's1');
    expect(moves([card(slotB, 's1')], [before], [before])).toEqual({ [slotB]: slotA });
    expect(moves([card(slotB, 's1')], [{ ...before, isGone: true }])).toEqual({ [slotB]: slotA });
  });

  it('when another card is in its earlier slot', () => {
    const device = stored(slotA, 's1');
    const expected = { [slotA]: slotA, [slotB]: slotA };
    expect(moves([card(slotA, 's2'), card(slotB, 's1')], [device])).toEqual(expected);
    expect(moves([card(slotA), card(slotB, 's1')], [device])).toEqual({ [slotB]: slotA });
  });

  it('for both places when it was swapped', () => {
    const devices = [stored(slotA, 's1'), stored(slotB, 's2')];
    const found = movedDevices(
      { put: [card(slotA, 's2'), card(slotB, 's1')], retire: [] },
      devices,
    );
    expect(found.map(({ address, from }) => `${address} ${from.address}`)).toEqual(
      [slotA, slotA, slotB, slotB].map(
        (address, index) => `${address} ${index % 2 ? slotB : slotA}`,
      ),
    );
  });
});

describe('a card does not count as moved', () => {
  it('when it stays, has no identity, or is new', () => {
    const before = stored(slotA, 's1');
    expect(moves([card(slotA, 's1')], [before])).toEqual({});
    expect(moves([card(slotB)], [before], [before])).toEqual({});
    expect(moves([card(slotB, 's2')], [before], [before])).toEqual({});
  });

  it('when two cards of the host have that identity', () => {
    const [before, other] = [stored(slotA, 's1'), stored('0000:d8:00.0', 's1')];
    expect(moves([card(slotB, 's1')], [before, other], [before])).toEqual({});
    const both = [card(slotB, 's1'), card('0000:d9:00.0', 's1')];
    expect(moves(both, [before], [before])).toEqual({});
  });
});
