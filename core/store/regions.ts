// What regions of FPGAs hold, as far as it is known, and what operators have them programmed with.

import type { HostRelease } from '../domain/arq.ts';
import type { AttachHandle, ProgramNote } from '../domain/device.ts';
import type { ProviderUuid } from '../domain/ids.ts';
import type { BindingTables } from './binding-items.ts';
import { forgetDigest } from './digests.ts';
import type { Documents } from './documents.ts';
import { releaseRow } from './host-work-rows.ts';
import { deployableOf } from './inventory-rows.ts';
import { deployableKey, handleKey } from './rows.ts';
import { type TransactItem, transact, transactItemsMax, updated, updateIf } from './writes.ts';

/** Each handle is written in the transaction, beside the release and the note. */
export const handlesPerProgramMax = transactItemsMax - 2;

export interface RegionStore {
  /** What the region holds is unknown from now on, until its host reports it anew. */
  forgetFunction(provider: ProviderUuid): Promise<void>;
  /** Keeps all handles of the region until the release is confirmed; false if one is not free. */
  startProgram(
    release: HostRelease,
    provider: ProviderUuid,
    note: ProgramNote,
    dueAt: string,
  ): Promise<boolean>;
  /** How it ended; a note of another program stays. */
  endProgram(release: HostRelease, state: ProgramNote['state'], reason?: string): Promise<void>;
}

export function regionStore(client: Documents, tables: BindingTables): RegionStore {
  const TableName = tables.inventory;
  return {
    async forgetFunction(provider) {
      const row = await updated(client, {
        TableName,
        Key: deployableKey(provider),
        UpdateExpression: 'REMOVE deployable.bitstream_id, deployable.function_uuid',
        ConditionExpression: 'attribute_exists(pk)',
      });
      if (!row) return;
      // Else a report of what it held before, and may hold still, would pass for one that is known already.
      const { hostname, deviceUuid } = deployableOf(row);
      await forgetDigest(client, TableName, hostname, deviceUuid);
    },

    async startProgram(release, provider, note, dueAt) {
      const outcome = await transact(client, [
        { Put: { TableName: tables.arqs, Item: releaseRow(release, dueAt) } },
        {
          Update: {
            TableName,
            Key: deployableKey(provider),
            // Its handles are there, so it is.
            UpdateExpression: 'SET program_note = :note, program_id = :id',
            ExpressionAttributeValues: { ':note': note, ':id': release.id },
          },
        },
        ...release.handles.map(({ handleUuid }) => keep(TableName, provider, handleUuid, release)),
      ]);
      return outcome === 'done';
    },

    async endProgram(release, state, reason) {
      if (!release.program) return;
      await updateIf(client, {
        TableName,
        Key: deployableKey(release.program.providerUuid),
        UpdateExpression: `SET program_note.#state = :state${reason ? ', program_note.reason = :reason' : ''}`,
        ConditionExpression: 'program_id = :id',
        ExpressionAttributeNames: { '#state': 'state' },
        ExpressionAttributeValues: {
          ':state': state,
          ':id': release.id,
          ...(reason && { ':reason': reason }),
        },
      });
    },
  };
}

function keep(
  TableName: string,
  provider: ProviderUuid,
  handle: AttachHandle['uuid'],
  release: HostRelease,
): TransactItem {
  return {
    Update: {
      TableName,
      Key: handleKey(provider, handle),
      // Whoever has seen it free has seen another epoch.
      UpdateExpression: 'SET release_id = :release ADD epoch :one',
      ConditionExpression:
        'attribute_exists(pk) AND attribute_not_exists(arq_uuid) AND ' +
        'attribute_not_exists(release_id) AND attribute_not_exists(restored_at)',
      ExpressionAttributeValues: { ':release': release.id, ':one': 1 },
    },
  };
}
