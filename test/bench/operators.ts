// What operators' reads cost in a small cloud and in one that is a hundred times as large.

import type { HttpEngine } from '#local/ports.ts';
import { environmentFor } from '#local/process/environment.ts';
import { type Layout, urlOf } from '#local/process/layout.ts';
import { printTable } from './print/print-table.ts';
import { createApi, expectAnswer } from './system/api.ts';
import { type Exchange, startCountingProxy } from './system/counting-proxy.ts';
import { stage, startOwnSystem } from './system/own-system.ts';
import { historyDays, storedCloud } from './system/stored-cloud.ts';

const sizes = [
  { hosts: 100, records: 2000 },
  { hosts: 10_000, records: 200_000 },
] as const;

/** For the time that each takes. */
const timesRepeated = 5;

interface OperatorsRead {
  readonly name: string;
  readonly path: (from: string) => string;
  /** The most RCU in the large cloud; without it the cost is printed and not judged. */
  readonly readsMax?: number;
  /** The first request counts what the sweep has not kept. */
  readonly isRepeated?: true;
}

const operatorsReads: readonly OperatorsRead[] = [
  {
    name: 'history of a kind without records',
    path: (from) => `/history?kind=device.unhealthy&from=${from}`,
    readsMax: 20,
  },
  { name: 'metrics', path: () => '/metrics', readsMax: 200 },
  { name: 'report', path: (from) => `/report?from=${from}`, readsMax: 200 },
  { name: 'incidents, first page', path: () => '/incidents', readsMax: 60 },
  {
    name: 'capacity of the cloud, first page',
    path: () => '/capacity?profile=bench',
    readsMax: 100,
  },
  { name: 'capacity, a page that is read now', path: () => '/capacity?profile=bench&live=true' },
  {
    name: 'usage of all projects',
    path: (from) => `/usage?from=${from.slice(0, 10)}`,
    readsMax: 200,
    isRepeated: true,
  },
];

interface Counted {
  readonly units: number;
  readonly requests: number;
  /** The median of its repetitions. */
  readonly ms: number;
}

export interface ReadCost {
  readonly name: string;
  readonly readsMax?: number;
  /** In the order of the sizes. */
  readonly counted: readonly Counted[];
}

/** Returns false if a read costs more than its target in the large cloud. */
export async function benchOperators(): Promise<boolean> {
  const bySize: ReadCost['counted'][] = [];
  for (const size of sizes) bySize.push(await readAll(size));
  const costs = operatorsReads.map(({ name, readsMax }, index) => ({
    name,
    ...(readsMax !== undefined && { readsMax }),
    counted: bySize.flatMap((counted) => counted[index] ?? []),
  }));
  refuseUncountedReads(costs);
  printTable(
    `Operators' reads: ${sizes.map(({ hosts, records }) => `${hosts} hosts and ${records} records`).join(', then ')}`,
    ['', 'RCU', 'requests', 'ms', 'RCU', 'requests', 'ms', 'growth', 'target'],
    costs.map(({ name, counted, readsMax }) => {
      const [small, large] = counted.map(({ units }) => units) as [number, number];
      const cells = counted.flatMap(({ units, requests, ms }) => [
        ...[units, requests].map(String),
        ms.toFixed(0),
      ]);
      return [name, ...cells, (large / small).toFixed(1), readsMax ? `${readsMax} RCU` : '-'];
    }),
  );
  const isWithin = areWithin(costs);
  console.log(isWithin ? 'All targets are met.' : 'MISSED: a target is exceeded.');
  return isWithin;
}

export function areWithin(costs: readonly ReadCost[]): boolean {
  return costs.every(
    ({ counted, readsMax = Number.POSITIVE_INFINITY }) => (counted.at(-1)?.units ?? 0) <= readsMax,
  );
}

/** @throws Error naming the read for which nothing was counted */
export function refuseUncountedReads(costs: readonly ReadCost[]): void {
  for (const { name, counted } of costs) {
    if (counted.length === sizes.length && counted.every(({ units }) => units > 0)) continue;
    throw new Error(`Nothing was counted for ${name}: the figures are invalid.`);
  }
}

async function readAll(size: (typeof sizes)[number]) {
  let cost = { units: 0, requests: 0 };
  const count = ({ answered }: Exchange) => {
    const consumed = [answered.ConsumedCapacity ?? []].flat() as { CapacityUnits: number }[];
    const units = consumed.reduce((sum, each) => sum + each.CapacityUnits, 0);
    cost = { units: cost.units + units, requests: cost.requests + 1 };
  };
  let proxy: HttpEngine | undefined;
  const variables = async (layout: Layout) => {
    proxy = await startCountingProxy({
      target: urlOf(layout, 'dynamodb'),
      alter: (asked) => ({ ...asked, ReturnConsumedCapacity: 'TOTAL' }),
      onExchange: count,
    });
    return environmentFor(stage, {
      dynamoDb: proxy.url,
      sqs: urlOf(layout, 'sqs'),
      keystone: `${urlOf(layout, 'keystone')}/v3`,
    });
  };
  const own = await startOwnSystem({
    handles: [1],
    arqCount: 0,
    rows: storedCloud(size),
    variables,
  });
  const url = own.target.url.replace(/v2$/, 'operator/v1');
  const api = createApi({ ...own.target, url, token: 'admin-token' });
  try {
    // Their reads would be counted, too.
    await own.system.kill('consumers');
    // The first request of the process also reads the service's token.
    await expectAnswer(api, 200, 'GET', '/metrics');
    const from = new Date(Date.now() - historyDays * 86_400_000).toISOString();
    const costs: Counted[] = [];
    for (const { path, isRepeated } of operatorsReads) {
      if (isRepeated) await expectAnswer(api, 200, 'GET', path(from));
      cost = { units: 0, requests: 0 };
      await expectAnswer(api, 200, 'GET', path(from));
      const counted = cost;
      const times: number[] = [];
      for (let time = 0; time < timesRepeated; time += 1) {
        const startedMs = performance.now();
        await expectAnswer(api, 200, 'GET', path(from));
        times.push(performance.now() - startedMs);
      }
      times.sort((one, other) => one - other);
      costs.push({ ...counted, ms: times[Math.floor(times.length / 2)] ?? 0 });
    }
    return costs;
  } finally {
    api.close();
    await own.stop();
    await proxy?.stop();
  }
}
