// What a `wide/N` scenario has beside that of a seed: the writer of the history, whose batches
// have any size; time to live, which deletes late or at once; hosts with wrong clocks; a bucket
// that is away; roles that are revoked for a while; a second stack on the same Placement; and
// operators at work.

import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '#core/domain/caller.ts';
import type { HistoryKind } from '#core/domain/history/history.ts';
import { deriveHistory } from '#core/domain/history/history-of-change.ts';
import type { Change } from '#core/domain/outbox/outbox.ts';
import { stackTrait } from '#core/domain/placement/stack-mark.ts';
import { silentLog } from '#core/log.ts';
import { noMetrics } from '#core/metrics.ts';
import { drainHost, resumeHost } from '#core/operations/hosts/drain-host.ts';
import type { Announcer } from '#core/operations/outbox/announce.ts';
import { historyWriter } from '#core/store/history/history.ts';
import { incidentMarker } from '#core/store/hosts/incident-marks.ts';
import { toInstance } from '#core/store/rows/arq-rows.ts';
import { toHandle } from '#core/store/rows/handle-rows.ts';
import type { DocumentClients, Documents } from '#core/store/table/documents.ts';
import { tableName, tables } from '#core/store/table/tables.ts';
import { announcementsConsumer } from '#functions/consumers/announcements.ts';
import type { StoredProvider } from '#local/openstack/placement/state.ts';
import type { MemoryDatabase, RowChange } from '#simulation/database/memory-database.ts';
import type { Strip } from '#simulation/guards.ts';
import type { Process } from '#simulation/timeline.ts';
import { Violation } from '#simulation/violation.ts';
import {
  disableDevices,
  enableDevices,
  forceRelease,
  programRegion,
  resetDevices,
} from './acts.ts';
import { createStreams, type SimulatedStreams, type StreamParts } from './aws/streams.ts';
import { endHold, hold } from './rules/limits/holds.ts';
import { stage } from './stage.ts';
import type { World } from './world.ts';

const minuteMs = 60_000;
const historyDays = 400;
const clockOffsetMsMax = 300_000;

function announcerOf(documents: Documents): Announcer {
  const names = { history: tableName(stage, 'history'), inventory: tableName(stage, 'inventory') };
  return {
    stage,
    log: silentLog,
    history: historyWriter(documents, names, historyDays),
    incidentMarks: incidentMarker(documents, names.inventory),
    // What the bus does is the concern of test/integration/announcements.test.ts.
    events: { put: async (events) => events.map(() => ({ end: 'put' })) },
    queues: { send: async () => {} },
    metrics: noMetrics,
    deadLetter: ({ cause }) => Promise.reject(new Error(cause)),
  };
}

type HistoryParts = Pick<StreamParts, 'timeline' | 'random' | 'faults' | 'spawn'> & {
  readonly strip: Strip;
};

/** The second reader of the streams. */
export function createHistoryStreams(
  { strip, ...parts }: HistoryParts,
  clientsOf: (process: Process) => DocumentClients,
): SimulatedStreams {
  return createStreams({
    ...parts,
    name: 'announcements',
    isLossy: strip.isStripped('history batch is redelivered'),
    batchSize: () => parts.random.between(1, 25),
    consumer: (process) => announcementsConsumer(() => announcerOf(clientsOf(process).documents)),
  });
}

/** Counts the records that follow from the committed changes, by their kind. */
export function createExpectedHistory(): {
  readonly counts: ReadonlyMap<HistoryKind, number>;
  see(change: RowChange): void;
} {
  const counts = new Map<HistoryKind, number>();
  return {
    counts,
    see: (committed) => {
      const change = changeOf(committed);
      if (!change) return;
      for (const { kind } of deriveHistory(change, { id: '', at: 0 })) {
        counts.set(kind, (counts.get(kind) ?? 0) + 1);
      }
    },
  };
}

/** Handles and binds: what usage and audit are made of. */
function changeOf({ before, after }: RowChange): Change | undefined {
  const row = after ?? before;
  const images = <T>(read: (image: Record<string, unknown>) => T) => ({
    ...(before && { before: read(before) }),
    ...(after && { after: read(after) }),
  });
  if (String(row?.sk).startsWith('HANDLE#')) return { kind: 'handle', ...images(toHandle) };
  if (String(row?.pk).startsWith('INSTANCE#')) return { kind: 'instance', ...images(toInstance) };
  return undefined;
}

/** @returns to be called once everything is quiet */
export function createWideCheck(world: World): () => void {
  const { openstack, random, database, expectedHistory = new Map() } = world;
  const { providers } = openstack.placement;
  const [root] = Object.values(providers).filter(({ parent }) => parent === null);
  const uuid = random.uuid();
  const foreign: StoredProvider = {
    uuid,
    name: `${root?.name}_foreign`,
    generation: 3,
    parent: root?.uuid ?? null,
    inventories: {},
    traits: [stackTrait('other')],
  };
  providers[uuid] = structuredClone(foreign);
  return () => {
    if (!isDeepStrictEqual(providers[uuid], foreign)) {
      throw new Violation('L3', 'a provider of another stack was changed or deleted');
    }
    checkWritten(database, expectedHistory);
    checkResumed(database);
  };
}

/** Each record is in the history once, and none is missing. */
function checkWritten(database: MemoryDatabase, expected: ReadonlyMap<HistoryKind, number>): void {
  const days = database.rows('history').filter(({ pk }) => String(pk).startsWith('DAY#'));
  const written = Map.groupBy(days, ({ kind }) => String(kind));
  for (const [kind, count] of expected) {
    const stored = written.get(kind)?.length ?? 0;
    if (stored === count) continue;
    throw new Violation('L3', `the history has ${stored} of ${count} records of ${kind}`);
  }
}

/** DynamoDB deletes what has expired at once, or within days. */
function startTimeToLive({ timeline, random, database }: World): void {
  const look = () => {
    for (const { name, hasSortKey } of tables) {
      for (const { pk, sk, expires_at } of database.rows(name)) {
        const hasExpired = Number(expires_at) * 1000 <= timeline.now();
        if (!hasExpired || random.chance(0.5)) continue;
        const Key = { pk, ...(hasSortKey && { sk }) };
        database.execute('DeleteCommand', { TableName: tableName(stage, name), Key });
      }
    }
    timeline.at(timeline.now() + minuteMs, look);
  };
  timeline.at(timeline.now() + minuteMs, look);
}

/** Whether a request whose answer is lost has enabled the device is not known. */
function enableAll(world: World): void {
  const { disabled, timeline } = world;
  enableDevices(world);
  timeline.at(timeline.now() + minuteMs, () => disabled.clear());
}

const operator: Caller = {
  requestId: 'req-wide',
  userId: 'operator',
  projectId: 'admin',
  roles: ['admin'],
  hasServiceToken: false,
};

async function drain({ depsFor, spawn }: World, hostname: string): Promise<void> {
  const deps = depsFor(spawn('operator'));
  await drainHost(deps, operator, hostname, { reason: 'a fan' }).catch(() => {});
}

async function resume({ depsFor, spawn }: World, hostname: string): Promise<void> {
  await resumeHost(depsFor(spawn('operator')), operator, hostname).catch(() => {});
}

/** Once the faults have ended, the operator resumes the hosts; one may have died before. */
export function endWide(world: World): void {
  for (const { name } of world.hosts) void resume(world, name);
}

function checkResumed(database: MemoryDatabase): void {
  for (const { pk, sk, drain: left, status, status_change } of database.rows('inventory')) {
    const isDrained = status === 'maintaining' && (status_change as { drain?: true })?.drain;
    if (left || isDrained) throw new Violation('L3', `${pk} ${sk} is drained after its resume`);
  }
}

/** What operators and their cloud do meanwhile, each at a moment of its own. */
export function startWide(world: World, busyMs: number): void {
  const { random, timeline, hosts, openstack } = world;
  for (const host of hosts) {
    if (random.chance(0.7)) {
      host.clockOffsetMs = random.between(-clockOffsetMsMax, clockOffsetMsMax);
    }
  }
  startTimeToLive(world);
  const at = (act: () => unknown) =>
    timeline.at(timeline.now() + random.between(0, busyMs), () => void act());
  const forAWhile = (add: () => void, end: () => void) =>
    at(() => {
      add();
      timeline.at(timeline.now() + random.between(5_000, 90_000), end);
    });
  for (const token of ['own', 'nova-token']) {
    forAWhile(
      () => void openstack.revoked.add(token),
      () => void openstack.revoked.delete(token),
    );
  }
  forAWhile(
    () => void openstack.outages.add('S3'),
    () => void openstack.outages.delete('S3'),
  );
  at(() => disableDevices(world));
  timeline.at(timeline.now() + busyMs, () => void enableAll(world));
  for (const { name } of hosts) {
    if (random.chance(0.5)) at(() => drain(world, name));
    if (random.chance(0.3)) at(() => resume(world, name));
  }
  at(() => programRegion(world));
  at(() => forceRelease(world));
  at(() => resetDevices(world));
  at(() => hold('GPU', random.between(10_000, busyMs))(world));
  if (random.chance(0.5)) at(() => hold('NIC')(world));
  if (random.chance(0.5)) at(() => endHold('NIC')(world));
}
