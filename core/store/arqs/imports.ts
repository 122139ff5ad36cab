// Stores a server of another accelerator service: its ARQs, the claims of its handles and its
// binding, in one transaction. Only the import needs it.

import type { Arq, InstanceBinding } from '#core/domain/arq/arq.ts';
import type { ChangeNote } from '#core/domain/change-note.ts';
import type { ClaimFacts } from '#core/domain/device/handle-claim.ts';
import type { HandleUuid, ProviderUuid } from '#core/domain/ids.ts';
import { claimFacts } from '#core/shapes/attach-handle.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { changeNote } from '#core/shapes/derive/fields.ts';
import { arqRow, instanceRow } from '#core/store/rows/arq-rows.ts';
import { handleKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { transact } from '#core/store/table/writes.ts';
import type { BindingTables } from './binding-items.ts';

export interface ImportedClaim {
  readonly arq: Arq;
  readonly providerUuid: ProviderUuid;
  readonly handleUuid: HandleUuid;
  readonly facts: ClaimFacts;
}

export interface ImportStore {
  /**
   * False, and nothing is stored, if an ARQ or the instance's binding exists, or if a handle is
   * not withheld since its import, or is not clean.
   */
  putServer(
    binding: InstanceBinding,
    claims: readonly ImportedClaim[],
    change: ChangeNote,
  ): Promise<boolean>;
}

export function importStore(client: Documents, tables: BindingTables): ImportStore {
  const isNew = { ConditionExpression: 'attribute_not_exists(pk)' };
  return {
    async putServer(binding, claims, change) {
      const outcome = await transact(client, [
        ...claims.map(({ arq }) => ({
          Put: { TableName: tables.arqs, Item: arqRow(arq), ...isNew },
        })),
        ...claims.map(({ arq, providerUuid, handleUuid, facts }) => ({
          Update: {
            TableName: tables.inventory,
            Key: handleKey(providerUuid, handleUuid),
            UpdateExpression:
              'SET arq_uuid = :arq, instance_uuid = :instance, claim_facts = :facts, last_change = :change REMOVE restored_at',
            ConditionExpression:
              'attribute_exists(restored_at) AND attribute_not_exists(arq_uuid) AND ' +
              'attribute_not_exists(release_id) AND attribute_not_exists(quarantine) AND ' +
              'attribute_not_exists(is_gone)',
            ExpressionAttributeValues: {
              ':arq': arq.uuid,
              ':instance': binding.instanceUuid,
              ':facts': toWire(claimFacts, facts),
              ':change': toWire(changeNote, change),
            },
          },
        })),
        { Put: { TableName: tables.arqs, Item: instanceRow(binding), ...isNew } },
      ]);
      return outcome === 'done';
    },
  };
}
