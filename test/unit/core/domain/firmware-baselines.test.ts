import { expect, it } from 'vitest';
import type { ComponentNote } from '#core/domain/device/device.ts';
import {
  findDifferences,
  parseBaselineId,
} from '#core/domain/device/firmware/firmware-baselines.ts';
import { aStoredDevice } from '#test/support/builders.ts';

const at = '2026-11-26T00:00:00.000Z';
const baselines = [
  { model: '8086:0b30', component: 'bmc', version: '2.0', by: 'user', at },
  { model: '8086:0b31', component: 'shell', version: '9', by: 'user', at },
];
const components = [
  { name: 'bmc', version: '1.0' },
  { name: 'shell', version: '7' },
];
const card = { vendor: '0x8086', product: '0x0B30', components };
const bmc = { component: 'bmc', runs: '1.0', baseline: '2.0' };

it.each<[string, Partial<ComponentNote>, readonly unknown[]]>([
  ['is being programmed with it', { state: 'started' }, []],
  ['waits for its servers to be programmed with it', { state: 'draining' }, []],
  ['is being programmed with another version', { state: 'started', version: '1.9' }, [bmc]],
  ['has failed', { state: 'failed' }, [bmc]],
  ['was programmed with it, and runs another', { state: 'done' }, [bmc]],
  ['has a program of another component', { state: 'started', component: 'shell' }, [bmc]],
])('a component that %s', (_, given, expected) => {
  const note: ComponentNote = {
    id: 'id',
    component: 'bmc',
    version: '2.0',
    image: 'image',
    by: 'user',
    at,
    state: 'started',
    ...given,
  };
  expect(findDifferences(aStoredDevice({ ...card, programs: [note] }), baselines)).toEqual(
    expected,
  );
});

it('compares the components of its model, and of no device that is gone', () => {
  expect(findDifferences(aStoredDevice(card), baselines)).toEqual([bmc]);
  expect(findDifferences(aStoredDevice({ ...card, isGone: true }), baselines)).toEqual([]);
  expect(findDifferences(aStoredDevice({ ...card, product: '0x0b31' }), baselines)).toEqual([
    { component: 'shell', runs: '7', baseline: '9' },
  ]);
});

it('reads the component behind the last colon', () => {
  expect(parseBaselineId('8086:0B30:bmc')).toEqual({ model: '8086:0b30', component: 'bmc' });
});
