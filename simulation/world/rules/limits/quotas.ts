// The quota of the servers' project: what operators do with it, and its rules.

import type { Arq } from '#core/domain/arq/arq.ts';
import { countedClass, type Limits, type Quota } from '#core/domain/quota/quota.ts';
import { recount } from '#core/operations/quotas/recount.ts';
import { setQuota } from '#core/operations/quotas/set-quota.ts';
import { toArq } from '#core/store/rows/arq-rows.ts';
import { quotaRow, toQuota } from '#core/store/rows/quota-rows.ts';
import { tableName } from '#core/store/table/tables.ts';
import type { Item } from '#simulation/database/expressions.ts';
import { type Violate, Violation } from '#simulation/violation.ts';
import { type Act, boot, deleteLast, inTurn } from '#simulation/world/acts.ts';
import { projects } from '#simulation/world/openstack/openstack.ts';
import { stage } from '#simulation/world/stage.ts';
import type { World } from '#simulation/world/world.ts';

const recountAfterMs = 10 * 60_000;

/** Limits the project before it has ARQs, by an operator whose process does not die. */
export async function limitByOperator({ depsFor, spawn }: World, limits: Limits): Promise<void> {
  await setQuota(depsFor(spawn('nova operator')), projects.demo, limits).catch(() => {});
}

/** Limits the project before it has ARQs, in one moment. */
export function limit(limits: Limits): Act {
  return ({ database, timeline }) => {
    const now = new Date(timeline.now()).toISOString();
    const quota: Quota = {
      projectId: projects.demo,
      limits,
      unitsLeft: limits,
      recent: {},
      revision: 0,
      countedArqs: 0,
      countedAt: now,
      updatedAt: now,
    };
    const TableName = tableName(stage, 'arqs');
    const recountAt = new Date(timeline.now() + recountAfterMs).toISOString();
    database.execute('PutCommand', { TableName, Item: quotaRow(quota, recountAt) });
  };
}

/** The only unit was taken by a server that is deleted. */
export const spendQuota: Act = (world) => {
  limit({ VGPU: 1 })(world);
  inTurn(boot('vgpu'), 20_000, deleteLast)(world);
};

/** Sets other limits of the same resource classes. */
export async function changeLimits({ database, depsFor, spawn, random }: World): Promise<void> {
  for (const { projectId, limits } of quotasOf(database)) {
    const others = Object.keys(limits).map((name) => [name, random.between(0, 5)]);
    await setQuota(depsFor(spawn('operator')), projectId, Object.fromEntries(others)).catch(
      () => {},
    );
  }
}

export async function recountAll({ database, depsFor, spawn }: World): Promise<void> {
  for (const { projectId } of quotasOf(database)) {
    await recount(depsFor(spawn('operator')), projectId).catch(() => {});
  }
}

/** Without the rows that bar an ARQ's uuid. */
export function storedArqs(database: World['database']): Arq[] {
  const isArq = ({ pk, is_barred }: Record<string, unknown>) =>
    String(pk).startsWith('ARQ#') && !is_barred;
  return database.rows('arqs').filter(isArq).map(toArq);
}

/** No creation takes more than is left. */
export function checkTake(before: Item, after: Item, violate: Violate): void {
  if (!String(after.pk).startsWith('QUOTA#') || before.revision !== after.revision) return;
  const [was, is] = [before, after].map((row) => row.units_left as Record<string, number>);
  for (const [name, left] of Object.entries(is ?? {})) {
    if (left < 0 && left < (was?.[name] ?? 0)) violate('I10', `${name}: ${left} units are left`);
  }
}

/** All units of a limit are left, or in use, or taken for nothing. @throws Violation */
export function checkQuotas({ database }: World): void {
  for (const { name, limit, left, used } of uses(database)) {
    if (left + used > limit) {
      throw new Violation('I10', `${name}: ${left} of ${limit} are left, and ${used} are in use`);
    }
  }
}

/** No unit is taken for nothing any more. @throws Violation */
export function checkRecounted({ database }: World): void {
  for (const { name, limit, left, used } of uses(database)) {
    if (left + used !== limit) {
      throw new Violation('L3', `${name}: ${left} of ${limit} are left, but ${used} are in use`);
    }
  }
}

function uses(database: World['database']) {
  const quotas = quotasOf(database);
  const arqs = quotas.length > 0 ? storedArqs(database) : [];
  return quotas.flatMap(({ projectId, limits, unitsLeft }) =>
    Object.entries(limits).map(([name, limit]) => ({
      name,
      limit,
      left: unitsLeft[name] ?? 0,
      used: arqs.filter((arq) => arq.projectId === projectId && countedClass(arq.group) === name)
        .length,
    })),
  );
}

function quotasOf(database: World['database']): Quota[] {
  return database
    .rows('arqs')
    .filter(({ pk }) => String(pk).startsWith('QUOTA#'))
    .map(toQuota);
}
