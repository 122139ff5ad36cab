// The known contents of FPGA regions, and the programs of operators.

import type { ProgramNote } from '#core/domain/device/device.ts';
import type { HandleRef, HostProgram } from '#core/domain/host-work/host-work.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import type { BindingTables } from '#core/store/arqs/binding-items.ts';
import { workRow } from '#core/store/rows/host-work-rows.ts';
import { toDeployable } from '#core/store/rows/inventory-rows.ts';
import { deployableKey, handleKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import {
  type TransactItem,
  transact,
  transactItemsMax,
  updated,
  updateIf,
} from '#core/store/table/writes.ts';
import { forgetDigest } from './digests.ts';

/** The transaction writes each handle, the program and the note. */
export const handlesPerProgramMax = transactItemsMax - 2;

export interface RegionStore {
  /** Forgets the region's content until its host reports it again. */
  forgetFunction(provider: ProviderUuid): Promise<void>;
  /**
   * Reserves all handles of the region until the program is confirmed; false if one is not free.
   */
  startProgram(program: HostProgram, note: ProgramNote, dueAt: string): Promise<boolean>;
  /** Stores how the program ended; the note of a newer program stays. */
  endProgram(program: HostProgram, state: ProgramNote['state'], reason?: string): Promise<void>;
}

export function regionStore(client: Documents, tables: BindingTables): RegionStore {
  const TableName = tables.inventory;
  return {
    async forgetFunction(provider) {
      const row = await updated(client, {
        TableName,
        Key: deployableKey(provider),
        UpdateExpression: 'REMOVE deployable.bitstream_id, deployable.function_uuids',
        ConditionExpression: 'attribute_exists(pk)',
      });
      if (!row) return;
      // Otherwise a report of the same function would count as known, and change nothing.
      const { hostname, deviceUuid } = toDeployable(row);
      await forgetDigest(client, TableName, hostname, deviceUuid);
    },

    async startProgram(program, note, dueAt) {
      const outcome = await transact(client, [
        { Put: { TableName: tables.arqs, Item: workRow(program, dueAt) } },
        {
          Update: {
            TableName,
            Key: deployableKey(program.providerUuid),
            // The handles' conditions prove that the region exists.
            UpdateExpression: 'SET program_note = :note, program_id = :id',
            ExpressionAttributeValues: { ':note': note, ':id': program.id },
          },
        },
        ...program.handles.map((handle) => keepHandle(TableName, handle, program)),
      ]);
      return outcome === 'done';
    },

    async endProgram(program, state, reason) {
      await updateIf(client, {
        TableName,
        Key: deployableKey(program.providerUuid),
        UpdateExpression: `SET program_note.#state = :state${reason ? ', program_note.reason = :reason' : ''}`,
        ConditionExpression: 'program_id = :id',
        ExpressionAttributeNames: { '#state': 'state' },
        ExpressionAttributeValues: {
          ':state': state,
          ':id': program.id,
          ...(reason && { ':reason': reason }),
        },
      });
    },
  };
}

/** The item of a program's transaction that keeps a handle. */
export function keepHandle(
  TableName: string,
  { providerUuid, handleUuid }: HandleRef,
  { id }: HostProgram,
): TransactItem {
  return {
    Update: {
      TableName,
      Key: handleKey(providerUuid, handleUuid),
      // A bind that has read the handle as free has the earlier epoch.
      UpdateExpression: 'SET release_id = :release ADD epoch :one',
      ConditionExpression:
        'attribute_exists(pk) AND attribute_not_exists(arq_uuid) AND ' +
        'attribute_not_exists(release_id) AND attribute_not_exists(restored_at)',
      ExpressionAttributeValues: { ':release': id, ':one': 1 },
    },
  };
}
