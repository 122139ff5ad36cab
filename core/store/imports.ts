// Stores a server of another accelerator service: its ARQs, the claims of its handles and its
// binding, in one transaction. Only the import needs it.

import type { Arq, InstanceBinding } from '../domain/arq.ts';
import type { ChangeNote } from '../domain/change-note.ts';
import type { ClaimFacts } from '../domain/handle-claim.ts';
import type { HandleUuid, ProviderUuid } from '../domain/ids.ts';
import { arqRow, instanceRow } from './arq-rows.ts';
import type { BindingTables } from './binding-items.ts';
import type { Documents } from './documents.ts';
import { snakeNamed } from './row-fields.ts';
import { handleKey } from './rows.ts';
import { transact } from './writes.ts';

export interface ImportedClaim {
  readonly arq: Arq;
  readonly providerUuid: ProviderUuid;
  readonly handleUuid: HandleUuid;
  readonly facts: ClaimFacts;
}

export interface ImportStore {
  /**
   * False, and nothing is stored, if an ARQ or the instance's binding exists, or if a handle is
   * not withheld since its import.
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
              'attribute_not_exists(release_id) AND attribute_not_exists(is_gone)',
            ExpressionAttributeValues: {
              ':arq': arq.uuid,
              ':instance': binding.instanceUuid,
              ':facts': snakeNamed(facts),
              ':change': snakeNamed(change),
            },
          },
        })),
        { Put: { TableName: tables.arqs, Item: instanceRow(binding), ...isNew } },
      ]);
      return outcome === 'done';
    },
  };
}
