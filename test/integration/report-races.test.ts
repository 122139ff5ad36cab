// Reports of one host that overtake each other, on the real engine.

import { beforeAll, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { InventoryReport } from '#core/contracts/report/inventory-report.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { withStore } from '#test/support/deps.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const earlier = 'bbbbbbbb-0000-4000-8000-000000000001';
const later = 'bbbbbbbb-0000-4000-8000-000000000002';

const world = perFile(() => startWorld({ consumers: false }));
let deps: ConsumerDeps;

beforeAll(() => {
  deps = world.deps;
});

it('sequence numbers start at zero with each boot', async () => {
  const report = (model: string, given: Partial<InventoryReport>, receivedAt: number) =>
    applySettled(deps, 'cmp9', aReport([aDevice({ model })], given), receivedAt);
  await report('a', { boot_id: earlier, sequence: 5000 }, 1000);
  await report('b', { boot_id: later, sequence: 1 }, 2000);
  await report('c', { boot_id: later, sequence: 2 }, 3000);
  const { devices } = await deps.store.inventory.host('cmp9');
  expect(devices[0]?.model).toBe('c');
});

it('a heartbeat undoes nothing of a report that overtakes it', async () => {
  const report = (model: string, given: object) =>
    applyReport(deps, 'cmp8', aReport([aDevice({ model })], given), 1000);
  await report('a', { sequence: 1 });
  const { inventory } = deps.store;
  const slow = withStore(deps, {
    inventory: {
      putReport: async (...given) => {
        if (given[0].sequence === 2) await report('b', { sequence: 3 });
        return inventory.putReport(...given);
      },
    },
  });
  const heartbeat = aReport([aDevice({ model: 'a' })], { sequence: 2 });
  await applyReport(slow, 'cmp8', { ...heartbeat, devices: [] }, 1000);
  const { host, devices } = await inventory.host('cmp8');
  expect([host.sequence, host.wanted, devices[0]?.model]).toEqual([3, {}, 'b']);
});

it('a heartbeat waits for the consumer that holds the lease of its host', async () => {
  const heartbeat = { ...aReport([aDevice()], { sequence: 2 }), devices: [] };
  await applyReport(deps, 'cmp7', aReport([aDevice()], { sequence: 1 }), 1000);
  const until = new Date(Date.now() + 60_000).toISOString();
  await deps.store.inventory.takeLease('cmp7', 'another', new Date().toISOString(), until);
  const refused = applyReport(deps, 'cmp7', heartbeat, 1000);
  await expect(refused).rejects.toThrow(RetryLater);
  await deps.store.inventory.endLease('cmp7', 'another');
  await applyReport(deps, 'cmp7', heartbeat, 1000);
  expect((await deps.store.inventory.host('cmp7')).host.sequence).toBe(2);
});

it('an unchanged report whose write looks refused takes the lease under another name', async () => {
  const { inventory } = deps.store;
  await applyReport(deps, 'cmp6', aReport([aDevice()], { sequence: 1 }), 1000);
  const names: (string | undefined)[] = [];
  const unsure = withStore(deps, {
    inventory: {
      putReport: async (host, holder, next) => {
        const isStored = await inventory.putReport(host, holder, next);
        if (names.length > 0) return isStored;
        names.push(next);
        return false;
      },
      takeLease: async (hostname, holder, ...given) => {
        names.push(holder);
        return inventory.takeLease(hostname, holder, ...given);
      },
    },
  });
  await applyReport(unsure, 'cmp6', aReport([aDevice()], { sequence: 2 }), 1000);
  expect(new Set(names).size).toBe(2);
  expect((await inventory.host('cmp6')).host.sequence).toBe(2);
});
