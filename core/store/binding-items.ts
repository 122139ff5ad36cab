// The operations of which bindings.ts makes its transactions: each states the condition on which it
// alone depends.

import type { Arq, InstanceBinding } from '../domain/arq.ts';
import type { Claim } from '../domain/bind-plan.ts';
import type { ArqUuid, ReleaseId } from '../domain/ids.ts';
import { arqKey, bindingAttributes, handleKey, instanceKey } from './rows.ts';
import { setting, type TransactItem } from './writes.ts';

export type BoundArq = Arq & Required<Pick<Arq, 'binding'>>;

export interface BindingTables {
  readonly arqs: string;
  readonly inventory: string;
}

export function claimArq(
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

export function claimHandle(tables: BindingTables, { arq, target, handle }: Claim): TransactItem {
  return {
    Update: {
      TableName: tables.inventory,
      Key: handleKey(handle.providerUuid, handle.uuid),
      UpdateExpression: 'SET arq_uuid = :arq, instance_uuid = :instance',
      // The epoch has grown if the handle was claimed and released, or its host has booted, since
      // it was read.
      ConditionExpression:
        'epoch = :epoch AND attribute_not_exists(arq_uuid) AND ' +
        'attribute_not_exists(quarantine) AND attribute_not_exists(unknown_since) AND ' +
        'attribute_not_exists(is_gone)',
      ExpressionAttributeValues: {
        ':arq': arq.uuid,
        ':instance': target.instanceUuid,
        ':epoch': handle.epoch,
      },
    },
  };
}

const boundBy = 'bind_id = :bind';

export function deleteArq(tables: BindingTables, arq: BoundArq): TransactItem {
  return {
    Delete: {
      TableName: tables.arqs,
      Key: arqKey(arq.uuid),
      ConditionExpression: boundBy,
      ExpressionAttributeValues: { ':bind': arq.binding.bindId },
    },
  };
}

export function unbindArq(tables: BindingTables, arq: BoundArq, now: string): TransactItem {
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

export function giveBackHandle(
  tables: BindingTables,
  arq: BoundArq,
  key: Record<string, string>,
  release: ReleaseId | undefined,
): TransactItem {
  const without = 'REMOVE arq_uuid, instance_uuid ADD epoch :one';
  return {
    Update: {
      TableName: tables.inventory,
      Key: key,
      // A release takes the place of an earlier one that the claim was waiting behind.
      UpdateExpression: release ? `SET release_id = :release ${without}` : without,
      ConditionExpression: 'arq_uuid = :arq',
      ExpressionAttributeValues: {
        ':arq': arq.uuid,
        ':one': 1,
        ...(release && { ':release': release }),
      },
    },
  };
}

/** An ARQ whose bind goes on, or is made again after its host has booted. */
export function resolveArq(
  tables: BindingTables,
  arq: BoundArq,
  state: 'Bound' | 'BindFailed' | 'provisioning',
  now: string,
  failure?: string,
): TransactItem {
  const set = setting({ state, updated_at: now, failure });
  const taken = state === 'BindFailed' ? ' REMOVE handle_uuid, handle_type, handle_info' : '';
  return {
    Update: {
      TableName: tables.arqs,
      Key: arqKey(arq.uuid),
      UpdateExpression: `${set.expression}${taken}`,
      ConditionExpression: `${boundBy} AND #state = :was`,
      ExpressionAttributeNames: set.names,
      ExpressionAttributeValues: {
        ...set.values,
        ':bind': arq.binding.bindId,
        ':was': arq.state,
      },
    },
  };
}

export function resolveInstance(
  tables: BindingTables,
  binding: InstanceBinding,
  next: Readonly<Record<string, string>> & Pick<InstanceBinding, 'state'>,
): TransactItem {
  const set = setting(next);
  return {
    Update: {
      TableName: tables.arqs,
      Key: instanceKey(binding.instanceUuid),
      UpdateExpression: next.due_at ? set.expression : `${set.expression} REMOVE due, due_at`,
      ConditionExpression:
        `${boundBy} AND #state = :was AND arq_uuids = :were AND ` +
        (binding.jobUuid ? '#job = :job' : 'attribute_not_exists(#job)'),
      ExpressionAttributeNames: { ...set.names, '#job': 'job_uuid' },
      ExpressionAttributeValues: {
        ...set.values,
        ':bind': binding.bindId,
        ':was': binding.state,
        ':were': binding.arqUuids,
        ...(binding.jobUuid && { ':job': binding.jobUuid }),
      },
    },
  };
}

export function releaseInstance(
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
