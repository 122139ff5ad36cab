// What hosts still have to clean up. A handle names the release that it waits for: the confirmation of
// any other changes nothing.

import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import type { HostRelease } from '../domain/arq.ts';
import type { AttachHandle, Device, ForceNote } from '../domain/device.ts';
import type { BindingTables } from './binding-items.ts';
import type { Documents } from './documents.ts';
import { releaseOf, releaseRow } from './host-work-rows.ts';
import { getRow } from './reads.ts';
import { snakeNamed } from './row-fields.ts';
import { deviceKey, handleKey, releaseKey } from './rows.ts';
import { duePartition } from './shards.ts';
import { type TransactItem, transact, transactItemsMax, updateIf } from './writes.ts';

/** Each is written in the transaction, beside the release. */
export const handlesPerReleaseMax = transactItemsMax - 1;
export const itemsPerReplacementMax = transactItemsMax;

/** What becomes of each handle of a release that begins, and on what condition. */
type HandleUpdate = Required<
  Pick<
    NonNullable<TransactItem['Update']>,
    'UpdateExpression' | 'ConditionExpression' | 'ExpressionAttributeValues'
  >
>;

export interface ReleaseStore {
  byId(id: string): Promise<HostRelease | undefined>;
  /** Frees the handles that still wait for it; those given, while others go on waiting. Repeatable. */
  confirm(release: HostRelease, some?: HostRelease['handles']): Promise<void>;
  /**
   * Keeps them from being handed out, until it is confirmed after all. Repeatable.
   *
   * @param retryAt when the host is asked again
   */
  quarantine(release: HostRelease, reason: string, retryAt: string): Promise<void>;
  /** What is in quarantine is retried at that time. */
  postpone(release: HostRelease, retryAt: string): Promise<void>;
  /**
   * Other releases of the same handles, which take the place of one in quarantine. All or none: false if
   * a handle no longer waits for the old release. At most {@link itemsPerReplacementMax} handles and
   * releases.
   */
  replace(old: HostRelease, next: readonly HostRelease[], dueAt: string): Promise<boolean>;
  /** What is in quarantine behind the old waits for the next instead; all or none. Not handed out before. */
  cleanAgain(old: HostRelease, next: HostRelease, dueAt: string): Promise<boolean>;
  /** Keeps who released handles of the device by force. */
  noteForce(device: Device, note: ForceNote): Promise<void>;
  /** A handle from a backup is handed out again; false if it is not as it had been read. */
  trust(handle: AttachHandle): Promise<boolean>;
  /** The same for free ones that their host has to clean up first; all or none. */
  reinstateWhenClean(release: HostRelease, dueAt: string): Promise<boolean>;
}

export function releaseStore(client: Documents, tables: BindingTables): ReleaseStore {
  const eachHandle = async (
    release: HostRelease,
    update: string,
    values: Readonly<Record<string, unknown>> = {},
  ) => {
    let waiting = 0;
    for (const { providerUuid, handleUuid } of release.handles) {
      const waits = await updateIf(client, {
        TableName: tables.inventory,
        Key: handleKey(providerUuid, handleUuid),
        UpdateExpression: update,
        ConditionExpression: 'release_id = :release',
        ExpressionAttributeValues: { ':release': release.id, ...values },
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
  ) => {
    const items = releases.flatMap((release): TransactItem[] => [
      { Put: { TableName: tables.arqs, Item: releaseRow(release, dueAt) } },
      ...release.handles.map(({ providerUuid, handleUuid }) => ({
        Update: {
          TableName: tables.inventory,
          Key: handleKey(providerUuid, handleUuid),
          ...update(release),
        },
      })),
    ]);
    return (await transact(client, items)) === 'done';
  };
  const deleteRow = (release: HostRelease) =>
    client.send(new DeleteCommand({ TableName: tables.arqs, Key: releaseKey(release.id) }));
  return {
    async byId(id) {
      const row = await getRow(client, tables.arqs, releaseKey(id));
      return row && releaseOf(row);
    },

    async confirm(release, some) {
      const { handles } = release;
      await eachHandle({ ...release, handles: some ?? handles }, 'REMOVE release_id, quarantine');
      if (!some) await deleteRow(release);
    },

    async quarantine(release, reason, retryAt) {
      const waiting = await eachHandle(release, 'SET quarantine = :reason', { ':reason': reason });
      if (waiting === 0) {
        // Later releases have taken its place.
        await deleteRow(release);
        return;
      }
      await updateIf(client, {
        TableName: tables.arqs,
        Key: releaseKey(release.id),
        UpdateExpression:
          'SET #release.quarantine = :reason, #release.retry_at = :at, due = :due, due_at = :at',
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeNames: { '#release': 'release' },
        ExpressionAttributeValues: {
          ':reason': reason,
          ':at': retryAt,
          ':due': duePartition('release', release.id),
        },
      });
    },

    async postpone({ id }, retryAt) {
      await updateIf(client, {
        TableName: tables.arqs,
        Key: releaseKey(id),
        UpdateExpression: 'SET #release.retry_at = :at, due_at = :at',
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeNames: { '#release': 'release' },
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
        ExpressionAttributeValues: { ':note': snakeNamed(note) },
      });
    },

    trust({ providerUuid, uuid, restoredAt, claim }) {
      return updateIf(client, {
        TableName: tables.inventory,
        Key: handleKey(providerUuid, uuid),
        UpdateExpression: 'REMOVE restored_at',
        ConditionExpression: claim
          ? 'restored_at = :at AND arq_uuid = :arq'
          : 'restored_at = :at AND attribute_not_exists(arq_uuid)',
        ExpressionAttributeValues: { ':at': restoredAt, ...(claim && { ':arq': claim.arqUuid }) },
      });
    },

    reinstateWhenClean(release, dueAt) {
      return begin([release], dueAt, ({ id }) => ({
        UpdateExpression: 'SET release_id = :release REMOVE restored_at',
        ConditionExpression: 'attribute_exists(restored_at) AND attribute_not_exists(arq_uuid)',
        ExpressionAttributeValues: { ':release': id },
      }));
    },
  };
}
