// The history by kind: the same records as by time, and no others are read for it.

import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { HistoryKind } from '#core/domain/history/history.ts';
import { historyKinds } from '#core/shapes/vocabulary/history-kinds.ts';
import { counts, resetCounts } from '#test/support/aws/aws-counter.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';
import { addRecords } from './history-records.ts';
import { operatorsApi } from './operators-api.ts';

const { countDocuments } = await vi.hoisted(() => import('#test/support/aws/aws-counter.ts'));

vi.mock('#core/store/table/documents.ts', countDocuments);

const world = perFile(() => startWorld());
const operator = operatorsApi(world);
const range = 'from=2026-03-01&to=2026-04-01';
const absent: readonly HistoryKind[] = ['device.unhealthy', 'host.conflict', 'region.programmed'];
/** An ARQ's creation is with the ARQ only. */
const listed = historyKinds.filter((kind) => !/^arq\./.test(kind) && !absent.includes(kind));

/** From 29 days before the range to 29 days after it. */
const records = Array.from({ length: 3 * listed.length }, (_, index) => ({
  kind: listed[(index * 7) % listed.length] ?? 'host.booted',
  at: new Date(Date.parse('2026-01-31T12:00:00Z') + index * 17 * 3_600_000).toISOString(),
  projectId: `project-${index % 2}`,
  reason: `number ${index}`,
}));

async function listAll(query: string): Promise<(readonly [string, string])[]> {
  const rows: (readonly [string, string])[] = [];
  let path: string | undefined = `/history?limit=2&${range}${query}`;
  while (path) {
    const { json } = await operator('GET', path);
    rows.push(...json.history.map(({ kind, reason }) => [kind, String(reason)] as const));
    path = json.history_links?.[0].href.split('/operator/v1')[1];
  }
  return rows;
}

describe('GET /operator/v1/history?kind=', () => {
  beforeAll(() => addRecords(...records));

  it('has of each kind what the list without a kind has', async () => {
    const all = await listAll('');
    expect(all.length).toBeGreaterThan(30);
    for (const kind of historyKinds) {
      expect(await listAll(`&kind=${kind}`)).toEqual(all.filter(([each]) => each === kind));
    }
  });

  it('with a project has the records of both', async () => {
    const all = await listAll('&project=project-1');
    const kinds = [...new Set(all.map(([kind]) => kind))];
    expect(kinds.length).toBeGreaterThan(10);
    for (const kind of kinds) {
      const both = all.filter(([each]) => each === kind);
      expect(await listAll(`&project=project-1&kind=${kind}`)).toEqual(both);
    }
  });

  it.each(absent)('reads no other records where there are none of %s', async (kind) => {
    resetCounts();
    expect(await listAll(`&kind=${kind}`)).toEqual([]);
    expect(counts.reads).toBeLessThan(5);
  });
});
