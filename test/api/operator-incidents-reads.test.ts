// The list of all incidents has what the lists of its kinds have, and reads hosts and devices
// once.

import { beforeAll, expect, it, vi } from 'vitest';
import { storedKinds } from '#core/domain/history/incidents.ts';
import { counts, resetCounts } from '#test/support/aws/aws-counter.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';
import { operatorsApi } from './operators-api.ts';

const { countDocuments } = await vi.hoisted(() => import('#test/support/aws/aws-counter.ts'));

vi.mock('#core/store/table/documents.ts', countDocuments);

const world = perFile(() => startWorld({ settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI' } }));
const operator = operatorsApi(world);
const hosts = 30;

beforeAll(async () => {
  const since = new Date().toISOString();
  for (let index = 0; index < hosts; index += 1) {
    const device = aDevice({
      handles: 1,
      ...(index % 10 === 0 && { health: { state: 'unhealthy', reason: 'is hot', since } }),
    });
    const reportedMs = Date.now() - (index % 10 === 5 ? 3_600_000 : 0);
    await applySettled(world.deps, `cmp${index}`, aReport([device]), reportedMs);
  }
});

async function listAll(query: string): Promise<unknown[]> {
  const rows: unknown[] = [];
  let path: string | undefined = `/incidents?${query}`;
  while (path) {
    const { json } = await operator('GET', path);
    rows.push(...json.incidents);
    path = json.incidents_links?.[0].href.split('/operator/v1')[1];
  }
  return rows;
}

it('GET /operator/v1/incidents has the incidents of all kinds, for two thirds of their reads', async () => {
  const byKind: unknown[] = [];
  resetCounts();
  for (const kind of storedKinds) byKind.push(...(await listAll(`limit=10&kind=${kind}`)));
  const { reads } = counts;
  expect(byKind).toHaveLength(6);
  resetCounts();
  expect(await listAll('limit=10')).toEqual(byKind);
  expect(counts.reads).toBeGreaterThan(1);
  expect(counts.reads).toBeLessThan(reads * 0.67);
  for (const limit of [1, 2, 5]) expect(await listAll(`limit=${limit}`)).toEqual(byKind);
});
