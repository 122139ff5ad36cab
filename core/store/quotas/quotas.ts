// Quotas of projects. A creation takes its units by one conditional update of one row, whatever
// else the project has stored; its size, and so its price, grows only with the creations of the
// last minute.

import { PutCommand } from '@aws-sdk/lib-dynamodb';
import {
  type Count,
  type Limits,
  outdated,
  type Quota,
  type Unit,
  unitsByClass,
} from '#core/domain/quota/quota.ts';
import { quotaRow, toQuota } from '#core/store/rows/quota-rows.ts';
import { quotaKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow } from '#core/store/table/reads.ts';
import { deleteIf, held, updateIf } from '#core/store/table/writes.ts';

export interface QuotaStore {
  byProject(projectId: string): Promise<Quota | undefined>;
  /**
   * Takes the units, all or none. False if too little is left, or if the quota no longer limits
   * one of their classes.
   */
  take(quota: Quota, units: readonly Unit[], nowMs: number): Promise<boolean>;
  /** Stores what a recount has found. False if another recount or new limits came first. */
  recounted(quota: Quota, count: Count, at: RecountTimes): Promise<boolean>;
  /** False if the quota exists. */
  create(quota: Quota, recountAt: string): Promise<boolean>;
  /** @param free of classes that had no limit. False if a recount or new limits came first. */
  setLimits(quota: Quota, limits: Limits, free: Limits, at: LimitTimes): Promise<boolean>;
  /** False if there is none. */
  delete(projectId: string): Promise<boolean>;
  /** Has the sweep recount the project, if it has a quota. */
  recountSoon(projectId: string, now: string): Promise<void>;
}

interface RecountTimes {
  readonly countedAt: string;
  readonly recountAt: string;
}

interface LimitTimes {
  readonly updatedAt: string;
  readonly recountAt: string;
}

export function quotaStore(client: Documents, table: string): QuotaStore {
  return {
    async byProject(projectId) {
      const row = await getRow(client, table, quotaKey(projectId));
      return row && toQuota(row);
    },

    take(quota, units, nowMs) {
      const update = new QuotaUpdate();
      const conditions = [...unitsByClass(units)].map(([resourceClass, count], index) => {
        update.add(resourceClass, -count);
        update.values[`:wanted${index}`] = count;
        return `units_left.${update.placeholderFor(resourceClass)} >= :wanted${index}`;
      });
      for (const { uuid, resourceClass } of units) update.setRecent(uuid, resourceClass);
      // A recount finds these ARQs by the index.
      const taken = new Set<string>(units.map(({ uuid }) => uuid));
      for (const uuid of outdated(quota, nowMs)) if (!taken.has(uuid)) update.removeRecent(uuid);
      return updateIf(client, {
        TableName: table,
        Key: quotaKey(quota.projectId),
        ...update.expressions(),
        ConditionExpression: conditions.join(' AND '),
      });
    },

    recounted(quota, { inUse, settled, countedArqs }, { countedAt, recountAt }) {
      const update = new QuotaUpdate();
      for (const [resourceClass, limit] of Object.entries(quota.limits)) {
        const free = limit - (inUse[resourceClass] ?? 0);
        update.add(resourceClass, free - (quota.unitsLeft[resourceClass] ?? 0));
      }
      for (const uuid of settled) update.removeRecent(uuid);
      update.set({ counted_at: countedAt, counted_arqs: countedArqs, due_at: recountAt });
      return updateIf(client, update.atRevision(table, quota));
    },

    create(quota, recountAt) {
      return held(
        client.send(
          new PutCommand({
            TableName: table,
            Item: quotaRow(quota, recountAt),
            ConditionExpression: 'attribute_not_exists(pk)',
          }),
        ),
      );
    },

    setLimits(quota, limits, free, { updatedAt, recountAt }) {
      const update = new QuotaUpdate();
      update.set({ limits, updated_at: updatedAt, due_at: recountAt });
      for (const resourceClass of new Set([...Object.keys(quota.limits), ...Object.keys(limits)])) {
        const [was, is] = [quota.limits[resourceClass], limits[resourceClass]];
        if (is === undefined) update.removeFree(resourceClass);
        else if (was === undefined) update.setFree(resourceClass, free[resourceClass] ?? 0);
        else update.add(resourceClass, is - was);
      }
      return updateIf(client, update.atRevision(table, quota));
    },

    delete(projectId) {
      return deleteIf(client, {
        TableName: table,
        Key: quotaKey(projectId),
        ConditionExpression: 'attribute_exists(pk)',
      });
    },

    async recountSoon(projectId, now) {
      await updateIf(client, {
        TableName: table,
        Key: quotaKey(projectId),
        UpdateExpression: 'SET due_at = :now',
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeValues: { ':now': now },
      });
    },
  };
}

/** An update of single entries of the row's maps, which leaves concurrent changes of others. */
class QuotaUpdate {
  readonly values: Record<string, unknown> = {};
  readonly #names: Record<string, string> = {};
  readonly #placeholders = new Map<string, string>();
  readonly #sets: string[] = [];
  readonly #removals: string[] = [];

  /** Classes and uuids are names in an expression. */
  placeholderFor(text: string): string {
    const existing = this.#placeholders.get(text);
    if (existing) return existing;
    const placeholder = `#entry${this.#placeholders.size}`;
    this.#placeholders.set(text, placeholder);
    this.#names[placeholder] = text;
    return placeholder;
  }

  add(resourceClass: string, amount: number): void {
    const path = `units_left.${this.placeholderFor(resourceClass)}`;
    this.#sets.push(`${path} = ${path} + ${this.#valueOf(amount)}`);
  }

  setFree(resourceClass: string, amount: number): void {
    this.#sets.push(`units_left.${this.placeholderFor(resourceClass)} = ${this.#valueOf(amount)}`);
  }

  removeFree(resourceClass: string): void {
    this.#removals.push(`units_left.${this.placeholderFor(resourceClass)}`);
  }

  setRecent(uuid: string, resourceClass: string): void {
    this.#sets.push(`recent.${this.placeholderFor(uuid)} = ${this.#valueOf(resourceClass)}`);
  }

  removeRecent(uuid: string): void {
    this.#removals.push(`recent.${this.placeholderFor(uuid)}`);
  }

  set(attributes: Readonly<Record<string, unknown>>): void {
    for (const [name, value] of Object.entries(attributes)) {
      this.#sets.push(`${name} = ${this.#valueOf(value)}`);
    }
  }

  /** Two recounts that read the same row would give the same units back twice. */
  atRevision(table: string, { projectId, revision }: Quota) {
    this.set({ revision: revision + 1 });
    this.values[':seen'] = revision;
    return {
      TableName: table,
      Key: quotaKey(projectId),
      ...this.expressions(),
      ConditionExpression: 'revision = :seen',
    };
  }

  expressions() {
    const removal = this.#removals.length > 0 ? ` REMOVE ${this.#removals.join(', ')}` : '';
    return {
      UpdateExpression: `SET ${this.#sets.join(', ')}${removal}`,
      ...(this.#placeholders.size > 0 && { ExpressionAttributeNames: this.#names }),
      ExpressionAttributeValues: this.values,
    };
  }

  #valueOf(value: unknown): string {
    const placeholder = `:value${Object.keys(this.values).length}`;
    this.values[placeholder] = value;
    return placeholder;
  }
}
