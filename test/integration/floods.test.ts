// One host sends far more reports than a host has to: they are dropped or wait, at the cost of one
// read each, and the reports of other hosts are applied. On the real engine.

import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { InventoryReport } from '#core/contracts/report/inventory-report.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { receiveReport } from '#core/operations/inventory/receive-report.ts';
import { withClients, withStore } from '#test/support/deps.ts';
import { aDevice, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const world = perFile(startWorld);
let deps: ConsumerDeps;
let nowMs = Date.now();

/** Calls to the store about the rows of the host. */
let asked: string[];
let hosts = 0;
let flooder: string;

beforeAll(() => {
  const { inventory } = world.deps.store;
  const noted = Object.fromEntries(
    Object.entries(inventory).map(([name, call]) => [
      name,
      (...given: unknown[]) => {
        asked.push(name);
        return (call as (...all: unknown[]) => unknown)(...given);
      },
    ]),
  ) as unknown as typeof inventory;
  deps = {
    ...withClients(withStore(world.deps, { inventory: noted }), {
      jobs: { create: async () => {} },
    }),
    clock: () => nowMs,
    random: () => 1,
  };
});

beforeEach(() => {
  asked = [];
  hosts += 1;
  flooder = `flooder${hosts}`;
});

let reads = 0;

async function receive(hostname: string, report: InventoryReport, attempt = 1): Promise<void> {
  await receiveReport(deps, hostname, {
    head: report,
    read: () => {
      reads += 1;
      return report;
    },
    receivedAtMs: nowMs,
    attempt,
  });
}

const changed = (sequence: number, given: object = {}) =>
  aReport([aDevice({ model: `model ${sequence}`, handles: 1, ...given })], { sequence });

async function modelOf(hostname: string): Promise<string | undefined> {
  return (await world.deps.store.inventory.host(hostname)).devices[0]?.model;
}

it('an overtaken report is dropped before its rows are read or written', async () => {
  await receive(flooder, changed(9));
  asked = [];
  reads = 0;
  for (let sequence = 1; sequence <= 9; sequence++) await receive(flooder, changed(sequence));
  expect([asked, reads]).toEqual([Array.from({ length: 9 }, () => 'hostAlone'), 0]);
  expect(await modelOf(flooder)).toBe('model 9');
});

it('an overtaken report is not applied although the host names devices that it never describes', async () => {
  const wanted = { '0000:0d:00.0': '0123456789abcdef' };
  const report = changed(9);
  await receive(flooder, { ...report, manifest: { ...report.manifest, ...wanted } });
  asked = [];
  await receive(flooder, changed(8));
  expect(asked).toEqual(['hostAlone']);
});

it('applies a burst at once, then one every two seconds, and reports of another host at once', async () => {
  let sequence = 0;
  let applied = 0;
  while (sequence < 40) {
    sequence += 1;
    const isApplied = await receive(flooder, changed(sequence)).then(
      () => true,
      (error: unknown) => {
        expect(error).toBeInstanceOf(RetryLater);
        return false;
      },
    );
    applied += Number(isApplied);
  }
  expect([applied, await modelOf(flooder)]).toEqual([30, 'model 30']);
  await receive('victim', changed(1));
  expect(await modelOf('victim')).toBe('model 1');

  nowMs += 2000;
  await receive(flooder, changed(40));
  await expect(receive(flooder, changed(41))).rejects.toThrow('reports too often');
  // The reports that waited are overtaken now.
  asked = [];
  await receive(flooder, changed(35), 3);
  expect(asked).toEqual(['hostAlone']);
  nowMs += 10 * 60_000;
  await receive(flooder, changed(42));
});

it('heartbeats wait for the pace, too', async () => {
  await receive(flooder, changed(1));
  const { manifest } = changed(1);
  for (let sequence = 2; sequence <= 30; sequence++) {
    await receive(flooder, aReport([], { manifest, sequence }));
  }
  await expect(receive(flooder, aReport([], { manifest, sequence: 31 }))).rejects.toThrow(
    'reports too often',
  );
});

it('a waiting report is retried at growing intervals', async () => {
  const { inventory } = world.deps.store;
  await receive(flooder, changed(1));
  const [now, until] = [nowMs, nowMs + 60_000].map((ms) => new Date(ms).toISOString());
  expect(await inventory.takeLease(flooder, 'another', now ?? '', until ?? '')).toBe(true);
  asked = [];
  const seconds = async (attempt: number) =>
    receive(flooder, changed(2), attempt).then(
      () => 0,
      (error: unknown) => (error as RetryLater).seconds,
    );
  expect([await seconds(1), await seconds(4), await seconds(50)]).toEqual([1, 8, 60]);
  expect(asked).toEqual(['hostAlone', 'hostAlone', 'hostAlone']);
});
