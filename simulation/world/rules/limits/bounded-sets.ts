// Sets of limited size: grants of a device, holds, baselines, and the places of unbound ARQs. None
// has more members than are allowed, each count is that of the members, and each ARQ that waits
// for its first bind has a place.

import { holdsMax } from '#core/domain/device/device-holds.ts';
import { baselinesMax } from '#core/domain/device/firmware/firmware-baselines.ts';
import { grantsMax } from '#core/domain/device/firmware/program-grants.ts';
import { type ArqUuid, timeOrderedUuid } from '#core/domain/ids.ts';
import { arqRow } from '#core/store/rows/arq-rows.ts';
import { baselinesKey, holdsKey, unboundKey } from '#core/store/rows/rows.ts';
import { type TableName, tableName } from '#core/store/table/tables.ts';
import type { Item } from '#simulation/database/expressions.ts';
import type { MemoryDatabase } from '#simulation/database/memory-database.ts';
import { type Violate, Violation } from '#simulation/violation.ts';
import type { Act } from '#simulation/world/acts.ts';
import { nicAddress } from '#simulation/world/hardware.ts';
import { projects } from '#simulation/world/openstack/openstack.ts';
import { stage } from '#simulation/world/stage.ts';
import type { World } from '#simulation/world/world.ts';
import { storedArqs } from './quotas.ts';

/** One part of places. */
export const unboundMax = 40;

/** Longer than a request takes from an ARQ to another look at its place. */
const placedWithinMs = 60_000;

const sets = [
  { prefix: 'baseline#', count: 'baseline_count', max: baselinesMax },
  { prefix: 'hold#', count: 'hold_count', max: holdsMax },
  { prefix: 'grant#', count: 'grant_count', max: grantsMax },
  { prefix: 'arq#', count: 'arq_count', max: unboundMax },
];

export function checkBoundedSets(after: Item, violate: Violate): void {
  for (const { prefix, count, max } of sets) {
    const { length } = Object.keys(after).filter((name) => name.startsWith(prefix));
    const counted = after[count];
    const isAsWritten = counted === undefined || counted === length - Number(after.uncounted);
    if (counted !== length && !isAsWritten) {
      violate('I10', `row ${after.pk} counts ${counted} of ${length} ${prefix}`);
    }
    if (length > max) violate('I10', `row ${after.pk} has ${length} ${prefix}, at most ${max}`);
  }
}

/** @throws Violation */
export function checkPlaces({ database, timeline }: World): void {
  const rows = database.rows('arqs').filter(({ pk }) => String(pk).startsWith('UNBOUND#'));
  const placed = new Set(rows.flatMap((row) => Object.keys(row)));
  for (const { uuid, state, createdAt } of storedArqs(database)) {
    const isRecent = timeline.now() - Date.parse(createdAt) < placedWithinMs;
    if (state !== 'Initial' || isRecent || placed.has(`arq#${uuid}`)) continue;
    throw new Violation('I10', `ARQ ${uuid} is unbound and has no place`);
  }
}

/** The place of a project that has created ARQs before. */
export function makePlaces(database: MemoryDatabase): void {
  put(database, 'arqs', { ...unboundKey(projects.demo, 0), arq_count: 0 });
}

const spare = 1;
const hourMs = 3_600_000;

function put(database: MemoryDatabase, table: TableName, Item: Item): void {
  database.execute('PutCommand', { TableName: tableName(stage, table), Item });
}

function membersFor(count: number, member: (index: number) => readonly [string, unknown]): Item {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => member(index)));
}

/** Members that an earlier release adds beside this one, while a stack is updated. */
const uncounted = 3;

/** All baselines but one. @param are those of an earlier release are without a count */
export const fillBaselines =
  (are: 'counted' | 'of an earlier release' | 'of both releases'): Act =>
  ({ database, timeline }) => {
    const at = new Date(timeline.now()).toISOString();
    const count = baselinesMax - spare;
    const baselines = membersFor(count, (index) => {
      const component = `c${index}`;
      const baseline = { model: '8086:0b30', component, version: '1', by: 'user', at };
      return [`baseline#8086:0b30:${component}`, baseline];
    });
    const counts = {
      counted: { baseline_count: count },
      'of an earlier release': {},
      'of both releases': { baseline_count: count - uncounted, uncounted },
    };
    put(database, 'inventory', { ...baselinesKey(), ...baselines, ...counts[are], changed_at: at });
  };

/** All holds but one; no device is like these. */
export const fillHolds: Act = ({ database, timeline }) => {
  const at = new Date(timeline.now()).toISOString();
  const count = holdsMax - spare;
  const holds = membersFor(count, (index) => {
    const id = `filled-${index}`;
    return [`hold#${id}`, { id, selector: { hostname: id }, reason: 'loud', by: 'user', at }];
  });
  const counts = { hold_count: count, revision: count };
  put(database, 'inventory', { ...holdsKey(), ...holds, ...counts, changed_at: at });
};

/** All grants of the NIC but one. */
export const fillGrants: Act = ({ database, timeline }) => {
  const row = database
    .rows('inventory')
    .find(({ device }) => (device as Item | undefined)?.address === nicAddress);
  if (!row) return;
  const count = grantsMax - spare;
  const at = new Date(timeline.now()).toISOString();
  const until = new Date(timeline.now() + 24 * hourMs).toISOString();
  const grants = membersFor(count, (index) => [
    `grant#filled${index}`,
    { project_id: `filled${index}`, until, by: 'user', at },
  ]);
  put(database, 'inventory', { ...row, ...grants, grant_count: count });
};

/** Unbound ARQs on all places but one, or on all places ARQs that are gone. */
export const fillPlaces =
  (are: 'unbound' | 'gone', removals?: number): Act =>
  ({ database, timeline, random }) => {
    const isGone = are === 'gone';
    const madeMs = timeline.now() - (isGone ? hourMs : 0);
    const createdAt = new Date(madeMs).toISOString();
    const dueAt = new Date(madeMs + hourMs / 4).toISOString();
    const count = isGone ? unboundMax : unboundMax - spare;
    const places = membersFor(count, (index) => {
      const uuid = timeOrderedUuid(madeMs - index, random.bytes(10)) as ArqUuid;
      if (!isGone) put(database, 'arqs', arqRow({ ...filling, uuid, createdAt }, dueAt));
      return [`arq#${uuid}`, 1];
    });
    const counts = { arq_count: count, ...(removals && { removals }) };
    put(database, 'arqs', { ...unboundKey(projects.demo, 0), ...places, ...counts });
  };

const filling = {
  state: 'Initial',
  deviceProfileName: 'filled',
  groupId: 0,
  group: { 'resources:FPGA': '1' },
  projectId: projects.demo,
} as const;

/** The project has not created an ARQ yet. */
export const dropPlaces: Act = ({ database }) => {
  const TableName = tableName(stage, 'arqs');
  database.execute('DeleteCommand', { TableName, Key: unboundKey(projects.demo, 0) });
};
