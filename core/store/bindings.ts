// Claims and releases: one transaction over ARQs, attach handles and the instance's row. Each row
// carries its own condition, so that of any number of claims on a handle exactly one holds.

import type { Arq, InstanceBinding } from '../domain/arq.ts';
import type { Claim } from '../domain/bind-plan.ts';
import type { ArqUuid } from '../domain/ids.ts';
import type { Documents } from './documents.ts';
import { arqKey, bindingAttributes, handleKey, instanceKey, instanceRow } from './rows.ts';
import { setting, type TransactItem, transact } from './writes.ts';

export interface BindingStore {
  /** Which claim's ARQ or handle was not as it had been read, or that the instance has a binding. */
  claim(
    binding: InstanceBinding,
    claims: readonly Claim[],
    now: string,
  ): Promise<'claimed' | 'contended'>;
  /** Ends claims of one binding and frees their handles; the ARQs are deleted, or left unbound. */
  release(binding: InstanceBinding, release: Release): Promise<'released' | 'contended'>;
}

export interface Release {
  /** All bound by the binding. */
  readonly arqs: readonly BoundArq[];
  readonly fate: 'deleted' | 'unbound';
  /** ARQs that the instance keeps. */
  readonly left: readonly ArqUuid[];
  readonly now: string;
}

export type BoundArq = Arq & Required<Pick<Arq, 'binding'>>;

export interface BindingTables {
  readonly arqs: string;
  readonly inventory: string;
}

export function bindingStore(client: Documents, tables: BindingTables): BindingStore {
  return {
    async claim(binding, claims, now) {
      const outcome = await transact(client, [
        ...claims.flatMap((claim) => [
          claimArq(tables, binding, claim, now),
          claimHandle(tables, claim),
        ]),
        {
          Put: {
            TableName: tables.arqs,
            Item: instanceRow(binding),
            ConditionExpression: 'attribute_not_exists(pk)',
          },
        },
      ]);
      return outcome === 'done' ? 'claimed' : 'contended';
    },

    async release(binding, { arqs, fate, left, now }) {
      const outcome = await transact(client, [
        ...arqs.flatMap((arq) => [
          fate === 'deleted' ? deleteArq(tables, arq) : unbindArq(tables, arq, now),
          freeHandle(tables, arq),
        ]),
        releaseInstance(tables, binding, left),
      ]);
      return outcome === 'done' ? 'released' : 'contended';
    },
  };
}

function claimArq(
  tables: BindingTables,
  binding: InstanceBinding,
  { arq, target, handle }: Claim,
  now: string,
): TransactItem {
  const set = setting({
    state: binding.state,
    project_id: binding.projectId,
    updated_at: now,
    ...bindingAttributes({
      bindId: binding.bindId,
      instanceUuid: target.instanceUuid,
      hostname: target.hostname,
      providerUuid: target.providerUuid,
      attachment: { handleUuid: handle.uuid, type: handle.type, info: handle.info },
    }),
  });
  return {
    Update: {
      TableName: tables.arqs,
      Key: arqKey(arq.uuid),
      UpdateExpression: `${set.expression} REMOVE due, due_at, failure`,
      ConditionExpression:
        'attribute_exists(pk) AND attribute_not_exists(bind_id) AND #state = :was',
      ExpressionAttributeNames: set.names,
      ExpressionAttributeValues: { ...set.values, ':was': arq.state },
    },
  };
}

function claimHandle(tables: BindingTables, { arq, target, handle }: Claim): TransactItem {
  return {
    Update: {
      TableName: tables.inventory,
      Key: handleKey(handle.providerUuid, handle.uuid),
      UpdateExpression: 'SET arq_uuid = :arq, instance_uuid = :instance',
      // The epoch has grown if the handle was claimed and released, or its host has booted, since
      // it was read.
      ConditionExpression:
        'epoch = :epoch AND attribute_not_exists(arq_uuid) AND attribute_not_exists(is_gone)',
      ExpressionAttributeValues: {
        ':arq': arq.uuid,
        ':instance': target.instanceUuid,
        ':epoch': handle.epoch,
      },
    },
  };
}

const boundBy = 'bind_id = :bind';

function deleteArq(tables: BindingTables, arq: BoundArq): TransactItem {
  return {
    Delete: {
      TableName: tables.arqs,
      Key: arqKey(arq.uuid),
      ConditionExpression: boundBy,
      ExpressionAttributeValues: { ':bind': arq.binding.bindId },
    },
  };
}

function unbindArq(tables: BindingTables, arq: BoundArq, now: string): TransactItem {
  const bound = Object.keys(bindingAttributes(arq.binding));
  return {
    Update: {
      TableName: tables.arqs,
      Key: arqKey(arq.uuid),
      UpdateExpression: `SET #state = :unbound, updated_at = :now REMOVE ${bound.join(', ')}, failure`,
      ConditionExpression: boundBy,
      ExpressionAttributeNames: { '#state': 'state' },
      ExpressionAttributeValues: {
        ':unbound': 'Unbound',
        ':now': now,
        ':bind': arq.binding.bindId,
      },
    },
  };
}

function freeHandle(tables: BindingTables, arq: BoundArq): TransactItem {
  const { providerUuid, attachment } = arq.binding;
  return {
    Update: {
      TableName: tables.inventory,
      Key: handleKey(providerUuid, attachment.handleUuid),
      UpdateExpression: 'REMOVE arq_uuid, instance_uuid ADD epoch :one',
      ConditionExpression: 'arq_uuid = :arq',
      ExpressionAttributeValues: { ':arq': arq.uuid, ':one': 1 },
    },
  };
}

function releaseInstance(
  tables: BindingTables,
  binding: InstanceBinding,
  left: readonly ArqUuid[],
): TransactItem {
  const at = { TableName: tables.arqs, Key: instanceKey(binding.instanceUuid) };
  // The list itself is the condition: two releases of different ARQs must not undo each other.
  const condition = 'bind_id = :bind AND arq_uuids = :were';
  const values = { ':bind': binding.bindId, ':were': binding.arqUuids };
  return left.length === 0
    ? { Delete: { ...at, ConditionExpression: condition, ExpressionAttributeValues: values } }
    : {
        Update: {
          ...at,
          UpdateExpression: 'SET arq_uuids = :left',
          ConditionExpression: condition,
          ExpressionAttributeValues: { ...values, ':left': left },
        },
      };
}
