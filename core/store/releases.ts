// What hosts still have to clean up. A handle names the release that it waits for: the confirmation of
// any other changes nothing.

import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import type { HostRelease } from '../domain/arq.ts';
import type { BindingTables } from './binding-items.ts';
import type { Documents } from './documents.ts';
import { releaseOf } from './host-work-rows.ts';
import { getRow } from './reads.ts';
import { handleKey, releaseKey } from './rows.ts';
import { updateIf } from './writes.ts';

export interface ReleaseStore {
  byId(id: string): Promise<HostRelease | undefined>;
  /** Frees the handles that still wait for it. Repeatable. */
  confirm(release: HostRelease): Promise<void>;
  /** Keeps them from being handed out, until it is confirmed after all. Repeatable. */
  quarantine(release: HostRelease, reason: string): Promise<void>;
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
  const deleteRow = (release: HostRelease) =>
    client.send(new DeleteCommand({ TableName: tables.arqs, Key: releaseKey(release.id) }));
  return {
    async byId(id) {
      const row = await getRow(client, tables.arqs, releaseKey(id));
      return row && releaseOf(row);
    },

    async confirm(release) {
      await eachHandle(release, 'REMOVE release_id, quarantine');
      await client.send(new DeleteCommand({ TableName: tables.arqs, Key: releaseKey(release.id) }));
    },

    async quarantine(release, reason) {
      const waiting = await eachHandle(release, 'SET quarantine = :reason', { ':reason': reason });
      if (waiting === 0) {
        // Later releases have taken its place.
        await deleteRow(release);
        return;
      }
      await updateIf(client, {
        TableName: tables.arqs,
        Key: releaseKey(release.id),
        UpdateExpression: 'SET #release.quarantine = :reason REMOVE due, due_at',
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeNames: { '#release': 'release' },
        ExpressionAttributeValues: { ':reason': reason },
      });
    },
  };
}
