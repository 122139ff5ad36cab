// Host work that attach handles wait for: releases and programs. A handle names the one that it
// waits for, and the confirmation of any other changes nothing.

import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import type { ChangeNote } from '#core/domain/change-note.ts';
import type { AttachHandle, Cleaning, Device, ForceNote } from '#core/domain/device/device.ts';
import type {
  AwaitedWork,
  HandleRef,
  HostProgram,
  HostRelease,
} from '#core/domain/host-work/host-work.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { changeNote } from '#core/shapes/derive/fields.ts';
import { present } from '#core/shapes/derive/present.ts';
import { forceNote } from '#core/shapes/device.ts';
import { toProgram, toRelease, workKey, workRow } from '#core/store/rows/host-work-rows.ts';
import { deviceKey, handleKey, programKey, releaseKey } from '#core/store/rows/rows.ts';
import { duePartition } from '#core/store/rows/shards.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow, getRows } from '#core/store/table/reads.ts';
import {
  type TransactItem,
  transact,
  transactItemsMax,
  updateIf,
} from '#core/store/table/writes.ts';
import type { BindingTables } from './binding-items.ts';

/** Each is written in the transaction, beside the release. */
export const handlesPerReleaseMax = transactItemsMax - 1;
export const itemsPerReplacementMax = transactItemsMax;
/** Beside the release and the device. */
export const handlesPerCardCleaningMax = transactItemsMax - 2;

/** The update of each handle of a release that begins, and its condition. */
type HandleUpdate = Required<
  Pick<
    NonNullable<TransactItem['Update']>,
    'UpdateExpression' | 'ConditionExpression' | 'ExpressionAttributeValues'
  >
>;

export interface ReleaseStore {
  release(id: string): Promise<HostRelease | undefined>;
  program(id: string): Promise<HostProgram | undefined>;
  /** The work that a handle waits for. */
  awaited(id: string): Promise<AwaitedWork | undefined>;
  /** Those that exist. */
  awaitedOf(ids: readonly string[]): Promise<AwaitedWork[]>;
  /**
   * Frees the handles that still wait for it, or only the given ones. Repeatable.
   *
   * @param cleanings what the host has verified, by the handles' uuids
   */
  confirm(
    work: AwaitedWork,
    change: ChangeNote,
    some?: readonly HandleRef[],
    cleanings?: Readonly<Record<string, Cleaning>>,
  ): Promise<void>;
  /**
   * Keeps its handles from being claimed until it is confirmed after all. Repeatable.
   *
   * @param retryAt when the host is asked again
   */
  quarantine(work: AwaitedWork, change: ChangeNote, reason: string, retryAt: string): Promise<void>;
  /** Sets when the host of quarantined handles is asked again. */
  postpone(work: AwaitedWork, retryAt: string): Promise<void>;
  /**
   * Replaces quarantined work by releases of the same handles. All or none: false if a handle no
   * longer waits for the old work. At most {@link itemsPerReplacementMax} handles
   * and releases.
   */
  replace(old: AwaitedWork, next: readonly HostRelease[], dueAt: string): Promise<boolean>;
  /** Handles in quarantine behind the old work wait for the next instead; all or none. */
  cleanAgain(old: AwaitedWork, next: HostRelease, dueAt: string): Promise<boolean>;
  /** Stores who released handles of the device by force. */
  noteForce(device: Device, note: ForceNote): Promise<void>;
  /** Makes a restored handle claimable; false if it has changed since it was read. */
  reinstate(handle: AttachHandle, change: ChangeNote): Promise<boolean>;
  /** The same for free handles that their host must clean first; all or none. */
  reinstateWhenClean(release: HostRelease, change: ChangeNote, dueAt: string): Promise<boolean>;
  /**
   * Has free handles of a withheld card cleaned; all or none.
   *
   * @param device notes that its whole card is being cleaned; undefined for a part
   */
  cleanCard(
    release: HostRelease,
    change: ChangeNote,
    dueAt: string,
    device?: Device,
  ): Promise<boolean>;
}

export function releaseStore(client: Documents, tables: BindingTables): ReleaseStore {
  const eachHandle = async (
    { id, handles }: Pick<AwaitedWork, 'id' | 'handles'>,
    update: string,
    values: Readonly<Record<string, unknown>> = {},
  ) => {
    let waiting = 0;
    for (const { providerUuid, handleUuid } of handles) {
      const waits = await updateIf(client, {
        TableName: tables.inventory,
        Key: handleKey(providerUuid, handleUuid),
        UpdateExpression: update,
        ConditionExpression: 'release_id = :release',
        ExpressionAttributeValues: { ':release': id, ...values },
      });
      if (waits) waiting += 1;
    }
    return waiting;
  };
  /** Stores the releases, and changes each of their handles; all or none. */
  const begin = async (
    releases: readonly HostRelease[],
    dueAt: string,
    update: (release: HostRelease) => HandleUpdate,
    more: readonly TransactItem[] = [],
  ) => {
    const items = releases.flatMap((release): TransactItem[] => [
      { Put: { TableName: tables.arqs, Item: workRow(release, dueAt) } },
      ...release.handles.map(({ providerUuid, handleUuid }) => ({
        Update: {
          TableName: tables.inventory,
          Key: handleKey(providerUuid, handleUuid),
          ...update(release),
        },
      })),
    ]);
    return (await transact(client, [...items, ...more])) === 'done';
  };
  const deleteRow = (work: AwaitedWork) =>
    client.send(new DeleteCommand({ TableName: tables.arqs, Key: workKey(work) }));
  return {
    async release(id) {
      const row = await getRow(client, tables.arqs, releaseKey(id));
      return row && toRelease(row);
    },

    async program(id) {
      const row = await getRow(client, tables.arqs, programKey(id));
      return row && toProgram(row);
    },

    async awaited(id) {
      const [row] = await getRows(client, tables.arqs, [releaseKey(id), programKey(id)]);
      if (!row) return undefined;
      return row.pk === releaseKey(id).pk ? toRelease(row) : toProgram(row);
    },

    async awaitedOf(ids) {
      const keys = ids.flatMap((id) => [releaseKey(id), programKey(id)]);
      const rows = await getRows(client, tables.arqs, keys);
      return rows.map((row) => (row.release === undefined ? toProgram(row) : toRelease(row)));
    },

    async confirm(work, change, some, cleanings = {}) {
      const { id, handles } = work;
      const free = 'last_change = :change REMOVE release_id, quarantine, quarantined_at';
      for (const handle of some ?? handles) {
        const cleaning = cleanings[handle.handleUuid];
        const update = cleaning ? `SET last_cleaning = :cleaning, ${free}` : `SET ${free}`;
        await eachHandle({ id, handles: [handle] }, update, {
          ':change': toWire(changeNote, change),
          ...present({ ':cleaning': cleaning }),
        });
      }
      if (!some) await deleteRow(work);
    },

    async quarantine(work, change, reason, retryAt) {
      const update =
        'SET quarantine = :reason, quarantined_at = if_not_exists(quarantined_at, :at), ' +
        'last_change = :change';
      const values = {
        ':reason': reason,
        ':at': change.at,
        ':change': toWire(changeNote, change),
      };
      const waiting = await eachHandle(work, update, values);
      if (waiting === 0) {
        // Later releases have replaced it.
        await deleteRow(work);
        return;
      }
      await updateIf(client, {
        TableName: tables.arqs,
        Key: workKey(work),
        UpdateExpression:
          'SET #work.quarantine = :reason, #work.retry_at = :at, due = :due, due_at = :at',
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeNames: { '#work': work.kind },
        ExpressionAttributeValues: {
          ':reason': reason,
          ':at': retryAt,
          ':due': duePartition('awaited', work.id),
        },
      });
    },

    async postpone(work, retryAt) {
      await updateIf(client, {
        TableName: tables.arqs,
        Key: workKey(work),
        UpdateExpression: 'SET #work.retry_at = :at, due_at = :at',
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeNames: { '#work': work.kind },
        ExpressionAttributeValues: { ':at': retryAt },
      });
    },

    async replace(old, next, dueAt) {
      const isReplaced = await begin(next, dueAt, ({ id }) => ({
        UpdateExpression: 'SET release_id = :next',
        ConditionExpression: 'release_id = :old',
        ExpressionAttributeValues: { ':old': old.id, ':next': id },
      }));
      if (isReplaced) await deleteRow(old);
      return isReplaced;
    },

    cleanAgain(old, next, dueAt) {
      return begin([next], dueAt, ({ id }) => ({
        UpdateExpression: 'SET release_id = :next REMOVE restored_at',
        ConditionExpression: 'release_id = :old AND attribute_exists(quarantine)',
        ExpressionAttributeValues: { ':old': old.id, ':next': id },
      }));
    },

    async noteForce({ hostname, uuid }, note) {
      await updateIf(client, {
        TableName: tables.inventory,
        Key: deviceKey(hostname, uuid),
        UpdateExpression: 'SET forced = :note',
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeValues: { ':note': toWire(forceNote, note) },
      });
    },

    reinstate({ providerUuid, uuid, restoredAt, claim, release }, change) {
      // The end of a release ends its quarantine; an import's has no release.
      const ended =
        release === undefined ? 'restored_at, quarantine, quarantined_at' : 'restored_at';
      return updateIf(client, {
        TableName: tables.inventory,
        Key: handleKey(providerUuid, uuid),
        UpdateExpression: `SET last_change = :change REMOVE ${ended}`,
        ConditionExpression: claim
          ? 'restored_at = :at AND arq_uuid = :arq'
          : 'restored_at = :at AND attribute_not_exists(arq_uuid)',
        ExpressionAttributeValues: {
          ':at': restoredAt,
          ':change': toWire(changeNote, change),
          ...present({ ':arq': claim?.arqUuid }),
        },
      });
    },

    reinstateWhenClean(release, change, dueAt) {
      return begin([release], dueAt, ({ id }) => ({
        UpdateExpression: 'SET release_id = :release, last_change = :change REMOVE restored_at',
        ConditionExpression: 'attribute_exists(restored_at) AND attribute_not_exists(arq_uuid)',
        ExpressionAttributeValues: { ':release': id, ':change': toWire(changeNote, change) },
      }));
    },

    cleanCard(release, change, dueAt, device) {
      const cleaningRequest = device && {
        Update: {
          TableName: tables.inventory,
          Key: deviceKey(device.hostname, device.uuid),
          UpdateExpression: 'SET device.card_cleaning.asked_at = :at',
          ConditionExpression: 'attribute_exists(pk)',
          ExpressionAttributeValues: { ':at': release.startedAt },
        },
      };
      return begin(
        [release],
        dueAt,
        ({ id }) => ({
          // With the epoch of the last release, its host would answer what it did then.
          UpdateExpression: 'SET release_id = :release, last_change = :change ADD epoch :one',
          ConditionExpression:
            'attribute_exists(pk) AND attribute_not_exists(arq_uuid) AND attribute_not_exists(release_id)',
          ExpressionAttributeValues: {
            ':release': id,
            ':change': toWire(changeNote, change),
            ':one': 1,
          },
        }),
        cleaningRequest ? [cleaningRequest] : [],
      );
    },
  };
}
