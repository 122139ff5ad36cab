// Which new devices are written in one transaction.

import { expect, it } from 'vitest';
import { planDevice } from '#core/domain/report/device-plan.ts';
import { newDeviceGroups } from '#core/store/inventory/inventory.ts';
import { aDevice, discovered } from '#test/support/reports.ts';

function plansOf(count: number, given: (at: number) => Parameters<typeof aDevice>[0]) {
  return Array.from({ length: count }, (_, at) => {
    const device = aDevice({ address: `0000:${10 + at}:00.0`, ...given(at) });
    return planDevice('cmp1', undefined, discovered(device), '2026-07-01T00:00:00.000Z');
  });
}

const sizes = (plans: ReturnType<typeof plansOf>) => newDeviceGroups(plans).map((g) => g.length);

it('fills a transaction of 100 rows with devices of three rows', () => {
  expect(sizes(plansOf(70, (at) => ({ provider_suffix: `D${at}`, handles: 1 })))).toEqual([
    33, 33, 4,
  ]);
});

it('puts a device with more rows than a transaction into a group of its own', () => {
  const handles = [1, 200, 1];
  const plans = plansOf(3, (at) => ({ provider_suffix: `D${at}`, handles: handles[at] ?? 1 }));
  expect(sizes(plans)).toEqual([1, 1, 1]);
});

it('separates devices that name the same provider', () => {
  expect(sizes(plansOf(2, () => ({ provider_suffix: 'Same', handles: 1 })))).toEqual([1, 1]);
});

it('makes no group of nothing', () => {
  expect(newDeviceGroups([])).toEqual([]);
});
