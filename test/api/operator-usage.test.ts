// The usage of all projects: the sum of all releases, each of which is read once, and then from
// the sums that are kept.

import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import fc from 'fast-check';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { HistoryRecord } from '#core/domain/history/history.ts';
import { partitionsFor } from '#core/domain/history/history.ts';
import { derivedUuid } from '#core/domain/ids.ts';
import {
  type Assignment,
  endedAssignments,
  mergeUsage,
  sumUsage,
} from '#core/domain/quota/usage.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { historyWriter } from '#core/store/history/history.ts';
import { usageDaysKey } from '#core/store/rows/history-rows.ts';
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
const from = new Date(fromMs).toISOString();
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

async function addReleases(all: readonly Assignment[], name: string): Promise<void> {
  const { documents, close } = createDocuments();
  const tables = { history: tableName(stage, 'history'), inventory: '' };
  const history = historyWriter(documents, tables, 365);
  await forEachAtOnce([...all.entries()], 16, async ([index, each]) => {
    const record: HistoryRecord = {
      id: derivedUuid(name, String(index)),
      kind: 'handle.released',
      at: new Date(each.toMs).toISOString(),
      since: new Date(each.fromMs).toISOString(),
      projectId: each.projectId,
      resourceClass: each.resourceClass,
      handleUuid: derivedUuid('handle', `${name} ${index}`),
    };
    const day = partitionsFor(record).find(({ subject }) => subject === 'day');
    if (day) await history.add(record, day);
  });
  close();
}

beforeAll(() => addReleases(assignments, 'release'));

function fullCount(all: readonly Assignment[], toMs = Date.now()) {
  return sumUsage(all, { fromMs, toMs }).map(
    ({ projectId, resourceClass, day, acceleratorMs }) => ({
      project_id: projectId,
      resource_class: resourceClass,
      day,
      accelerator_seconds: acceleratorMs / 1000,
    }),
  );
}

it('GET /operator/v1/usage has the sum of all releases, and reads each record once', async () => {
  resetCounts();
  const { json } = await operator('GET', `/usage?from=${from}`);
  const expected = fullCount(assignments);
  expect(json.usage).toEqual(expected);
  expect(expected.length).toBeGreaterThan(10);
  // A record has some 250 bytes, and an eventually consistent RCU reads eight kilobytes.
  const onceRead = (releases * 250) / 8192;
  expect(counts.reads).toBeGreaterThan(onceRead);
  expect(counts.reads).toBeLessThan(1.7 * onceRead);
});

it('GET /operator/v1/usage reads the sums that it has kept', async () => {
  resetCounts();
  const { json } = await operator('GET', `/usage?from=${from}`);
  expect(json.usage).toEqual(fullCount(assignments));
  expect(counts.reads).toBeLessThan(45);
});

it('GET /operator/v1/usage of days that ended has what belongs to these days', async () => {
  const to = new Date(midnightMs - dayMs);
  const { json } = await operator('GET', `/usage?from=${from}&to=${to.toISOString()}`);
  expect(json.usage).toEqual(fullCount(assignments, to.getTime()));
});

describe('the sums of usage', () => {
  const sums = () => world.deps.store.usageSums;
  const laterMs = midnightMs + 40 * dayMs;
  const later = new Date(laterMs).toISOString();
  const reading = { daysKept: 400, releasesMax: 10_000 };
  /** Claims that end within the day; the longest began days before. */
  const claims = (seed: number): Assignment[] =>
    fc
      .sample(
        fc.record({
          projectId: fc.constantFrom('one', 'two', 'three'),
          resourceClass: fc.constantFrom('FPGA', 'VGPU'),
          lastedMs: fc.oneof(fc.nat(hourMs), fc.nat(3 * dayMs)),
          toMs: fc.oneof(
            fc.nat(dayMs - 1),
            fc.nat(23).map((hour) => hour * hourMs),
          ),
        }),
        { numRuns: 60, seed },
      )
      .map(({ lastedMs, toMs, ...held }) => ({
        ...held,
        fromMs: laterMs + toMs - lastedMs,
        toMs: laterMs + toMs,
      }));

  async function sumAt(nowMs: number) {
    const read = await sums().read(later, { ...reading, nowMs });
    if (read === 'too-many') throw new Error('The limit is too low for this test.');
    const live = sumUsage(endedAssignments(read.releases).values(), all);
    return mergeUsage([...read.usage, ...live]);
  }
  const all = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
  const endedBy = (nowMs: number, given: readonly Assignment[]) =>
    sumUsage(
      given.filter(({ toMs }) => toMs <= nowMs),
      all,
    );

  it('are those of the full count at each hour, whatever was kept before', async () => {
    const given = claims(1);
    const written: Assignment[] = [];
    for (const minutes of [10, 14, 16, 70, 200, 205, 600, 1439, 1441, 1800, 2800, 3060, 5000]) {
      const nowMs = laterMs + minutes * 60_000;
      const next = given.filter((each) => each.toMs <= nowMs && !written.includes(each));
      await addReleases(next, `claim ${minutes}`);
      written.push(...next);
      if (minutes % 4 !== 0) await sums().keepHours(nowMs);
      expect(await sumAt(nowMs)).toEqual(endedBy(nowMs, given));
      expect(await sumAt(nowMs)).toEqual(endedBy(nowMs, given));
    }
  });

  it('get a record that came late when streams can deliver none any more', async () => {
    const day = midnightMs + 50 * dayMs;
    const hour = day + 5 * hourMs;
    const [first, late] = [1, 2].map((count) => ({
      projectId: 'late',
      resourceClass: 'FPGA',
      fromMs: hour,
      toMs: hour + count * 60_000,
    })) as [Assignment, Assignment];
    const sumsOfDay = async (nowMs: number) => {
      const read = await sums().read(new Date(day).toISOString(), { ...reading, nowMs });
      return read === 'too-many' ? read : mergeUsage(read.usage).map((each) => each.acceleratorMs);
    };
    await addReleases([first], 'first');
    expect(await sumsOfDay(hour + 2 * hourMs)).toEqual([60_000]);
    await addReleases([late], 'late');
    expect(await sumsOfDay(hour + 3 * hourMs)).toEqual([60_000]);
    await sums().keepHours(hour + 25 * hourMs);
    expect(await sumsOfDay(hour + 25 * hourMs)).toEqual([180_000]);
    expect(await sumsOfDay(day + 3 * dayMs)).toEqual([180_000]);
  });

  it('are kept until one answer has read enough, so that the next one goes on', async () => {
    const days = [60, 61, 62].map((count) => midnightMs + count * dayMs);
    const ofDay = (day: number) =>
      Array.from({ length: 10 }, (_, index) => ({
        projectId: `busy-${index}`,
        resourceClass: 'FPGA',
        fromMs: day,
        toMs: day + (index + 1) * 1000,
      }));
    await addReleases(days.flatMap(ofDay), 'busy');
    const about = { daysKept: 400, releasesMax: 15, nowMs: midnightMs + 70 * dayMs };
    const start = new Date(days[0] ?? 0).toISOString();
    expect(await sums().read(start, about)).toBe('too-many');
    const read = await sums().read(start, about);
    expect(read === 'too-many' ? read : mergeUsage(read.usage)).toHaveLength(30);
  });

  it('of many projects have several rows', async () => {
    const day = midnightMs + 80 * dayMs;
    const many = Array.from({ length: 1600 }, (_, index) => ({
      projectId: `project-${String(index).padStart(5, '0')}`,
      resourceClass: 'FPGA',
      fromMs: day,
      toMs: day + 1000 + index,
    }));
    await addReleases(many, 'many');
    const nowMs = day + 5 * dayMs;
    const start = new Date(day).toISOString();
    for (let times = 0; times < 2; times += 1) {
      const read = await sums().read(start, { ...reading, nowMs });
      expect(read === 'too-many' ? read : mergeUsage(read.usage)).toEqual(endedBy(nowMs, many));
    }
    // The writer of another count has died after its first row.
    const { documents, close } = createDocuments();
    const TableName = tableName(stage, 'history');
    const Key = usageDaysKey(start);
    const { Item } = await documents.send(new GetCommand({ TableName, Key }));
    const other = { ...Item, counted_at: start, usage: [] };
    await documents.send(new PutCommand({ TableName, Item: other }));
    close();
    const read = await sums().read(start, { ...reading, nowMs });
    expect(read === 'too-many' ? read : mergeUsage(read.usage)).toEqual(endedBy(nowMs, many));
  });
});
