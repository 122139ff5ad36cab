// The usage of all projects: the sum of all releases, each of which is read once.

import { beforeAll, expect, it, vi } from 'vitest';
import type { HistoryRecord } from '#core/domain/history/history.ts';
import { partitionsFor } from '#core/domain/history/history.ts';
import { derivedUuid } from '#core/domain/ids.ts';
import { type Assignment, sumUsage } from '#core/domain/quota/usage.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { historyWriter } from '#core/store/history/history.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { tableName } from '#core/store/table/tables.ts';
import { counts, resetCounts } from '#test/support/aws/aws-counter.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld } from '#test/support/world.ts';
import { operatorsApi } from './operators-api.ts';

const { countDocuments } = await vi.hoisted(() => import('#test/support/aws/aws-counter.ts'));

vi.mock('#core/store/table/documents.ts', countDocuments);

const world = perFile(() => startWorld());
const operator = operatorsApi(world);
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const midnightMs = Math.floor(Date.now() / dayMs) * dayMs;
const fromMs = midnightMs - 3 * dayMs;
const releases = 2500;

/** Most of them on one day; some begin before the range or end at the first moment of a day. */
const assignments: readonly Assignment[] = Array.from({ length: releases }, (_, index) => {
  const isAtMidnight = index % 100 === 0;
  const toMs = isAtMidnight
    ? midnightMs - (index % 3) * dayMs
    : midnightMs - 2 * dayMs + ((index * 7919) % releases) * 30_000;
  return {
    projectId: `project-${index % 3}`,
    resourceClass: index % 2 === 0 ? 'FPGA' : 'VGPU',
    fromMs: toMs - ((index % 40) + 1) * hourMs,
    toMs,
  };
});

beforeAll(async () => {
  const { documents, close } = createDocuments();
  const tables = { history: tableName(stage, 'history'), inventory: '' };
  const history = historyWriter(documents, tables, 365);
  await forEachAtOnce([...assignments.entries()], 16, async ([index, each]) => {
    const record: HistoryRecord = {
      ...{ id: derivedUuid('release', String(index)), kind: 'handle.released' },
      ...{ at: new Date(each.toMs).toISOString(), since: new Date(each.fromMs).toISOString() },
      ...{ projectId: each.projectId, resourceClass: each.resourceClass },
      handleUuid: derivedUuid('handle', String(index)),
    };
    const day = partitionsFor(record).find(({ subject }) => subject === 'day');
    if (day) await history.add(record, day);
  });
  close();
});

it('GET /operator/v1/usage has the sum of all releases, and reads each record once', async () => {
  resetCounts();
  const { json } = await operator('GET', `/usage?from=${new Date(fromMs).toISOString()}`);
  const expected = sumUsage(assignments, { fromMs, toMs: Date.now() });
  expect(json.usage).toEqual(
    expected.map(({ projectId, resourceClass, day, acceleratorMs }) => ({
      ...{ project_id: projectId, resource_class: resourceClass, day },
      accelerator_seconds: acceleratorMs / 1000,
    })),
  );
  expect(expected.length).toBeGreaterThan(10);
  // A record has some 250 bytes, and an eventually consistent RCU reads eight kilobytes.
  const onceRead = (releases * 250) / 8192;
  expect(counts.reads).toBeGreaterThan(onceRead);
  expect(counts.reads).toBeLessThan(1.7 * onceRead);
});
