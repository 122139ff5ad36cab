// What a tenant's count of usage reads at most: its price depends on the history of the project,
// which has more than the releases that are counted.

import { describe, expect, it } from 'vitest';
import type { HistoryReader } from '#core/store/history/history.ts';
import { readAssignments } from '#functions/operator/use/assignments.ts';
import { tenantBudget } from '#functions/operator/use/get-usage.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const world = perFile(startWorld);
const from = '2026-11-01T00:00:00.000Z';

/** A project with a history of records that are no releases. */
function longHistory(readMs: number) {
  const now = { ms: Date.parse('2026-11-20T00:00:00.000Z') };
  let reads = 0;
  const read: HistoryReader['read'] = async () => {
    reads += 1;
    now.ms += readMs;
    // More than any answer may read, so that a count without a bound ends, too.
    return reads < 10_000
      ? { records: [], pages: 10, next: `${from}#${reads}` }
      : { records: [], pages: 1 };
  };
  const deps = { ...world.deps, clock: () => now.ms, history: { read } };
  const count = () => readAssignments(deps, 'project', from, now.ms, tenantBudget);
  return { count, reads: () => reads };
}

describe("a tenant's count of usage", () => {
  it('reads 80 pages of a megabyte', async () => {
    const { count, reads } = longHistory(0);
    expect([await count(), reads()]).toEqual(['too-many', 8]);
  });

  it('reads for eight seconds', async () => {
    const { count, reads } = longHistory(1400);
    expect([await count(), reads()]).toEqual(['too-many', 6]);
  });
});
