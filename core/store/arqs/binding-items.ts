// The operations of the transactions in bindings.ts. A claim depends on each of its rows. A later
// change depends only on the instance's row: each change of an instance's ARQs changes that row,
// so the ARQs and their handles are unchanged as long as the row is.

import type { Arq, InstanceBinding } from '#core/domain/arq/arq.ts';
import type { Claim } from '#core/domain/arq/bind-plan.ts';
import { type ChangeNote, laterOf } from '#core/domain/change-note.ts';
import type { ClaimFacts } from '#core/domain/device/handle-claim.ts';
import type { ArqUuid, BindId, ReleaseId } from '#core/domain/ids.ts';
import { claimFacts, handleFacts } from '#core/shapes/attach-handle.ts';
import { pick, toWire } from '#core/shapes/derive/case.ts';
import { changeNote } from '#core/shapes/derive/fields.ts';
import { present } from '#core/shapes/derive/present.ts';
import {
  attachmentAttributes,
  bindingAttributes,
  unboundAttributes,
} from '#core/store/rows/arq-rows.ts';
import { arqKey, handleKey, instanceKey } from '#core/store/rows/rows.ts';
import { setting, type TransactItem } from '#core/store/table/writes.ts';

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
    ...(arq.alternatives && { group: JSON.stringify(arq.group) }),
    ...bindingAttributes({
      bindId: binding.bindId,
      instanceUuid: target.instanceUuid,
      hostname: target.hostname,
      providerUuid: target.providerUuid,
      attachment: { handleUuid: handle.uuid, ...pick(handleFacts, handle) },
    }),
  });
  return {
    Update: {
      TableName: tables.arqs,
      Key: arqKey(arq.uuid),
      // An earlier release has written `unbound_project`.
      UpdateExpression: `${set.expression} REMOVE due, due_at, unbound_project, failure`,
      // An ARQ in a state from which it is claimed has no binding.
      ConditionExpression: '#state = :was',
      ExpressionAttributeNames: set.names,
      ExpressionAttributeValues: { ...set.values, ':was': arq.state },
    },
  };
}

export function claimHandle(
  tables: BindingTables,
  binding: InstanceBinding,
  { arq, target, handle, place }: Claim,
  change: ChangeNote,
): TransactItem {
  const at = laterOf(change.at, handle.lastChange?.at);
  const { projectId } = binding;
  const facts: ClaimFacts = { projectId, at, profileName: arq.deviceProfileName, ...place };
  return {
    Update: {
      TableName: tables.inventory,
      Key: handleKey(handle.providerUuid, handle.uuid),
      UpdateExpression:
        'SET arq_uuid = :arq, instance_uuid = :instance, claim_facts = :facts, last_change = :change',
      // The epoch has grown if the handle was claimed and released since it was read, or is kept
      // for an operator's program.
      ConditionExpression:
        'epoch = :epoch AND attribute_not_exists(arq_uuid) AND ' +
        'attribute_not_exists(quarantine) AND attribute_not_exists(restored_at) AND ' +
        'attribute_not_exists(is_gone)',
      ExpressionAttributeValues: {
        ':arq': arq.uuid,
        ':instance': target.instanceUuid,
        ':epoch': handle.epoch,
        ':facts': toWire(claimFacts, facts),
        ':change': toWire(changeNote, { ...change, at }),
      },
    },
  };
}

export function deleteArq(tables: BindingTables, arq: BoundArq): TransactItem {
  return { Delete: { TableName: tables.arqs, Key: arqKey(arq.uuid) } };
}

/** The sweep deletes an unbound ARQ after a time, unless it is bound again. */
export function unbindArq(
  tables: BindingTables,
  arq: BoundArq,
  { change, unboundUntil }: { readonly change: ChangeNote; readonly unboundUntil: string },
): TransactItem {
  const bound = Object.keys(bindingAttributes(arq.binding));
  const set = setting({
    state: 'Unbound',
    updated_at: change.at,
    ...unboundAttributes(arq, unboundUntil),
  });
  return {
    Update: {
      TableName: tables.arqs,
      Key: arqKey(arq.uuid),
      UpdateExpression: `${set.expression} REMOVE ${bound.join(', ')}, failure`,
      ExpressionAttributeNames: set.names,
      ExpressionAttributeValues: set.values,
    },
  };
}

export function giveBackHandle(
  tables: BindingTables,
  key: Record<string, string>,
  release: ReleaseId | undefined,
  change: ChangeNote,
): TransactItem {
  const without = 'REMOVE arq_uuid, instance_uuid, claim_facts, is_reserved ADD epoch :one';
  return {
    Update: {
      TableName: tables.inventory,
      Key: key,
      // A release takes the place of an earlier one that the claim was waiting behind: a consumer
      // may be about to ask the host for the bind, and the host must have heard first that it is
      // over.
      UpdateExpression: `SET ${release ? 'release_id = :release, ' : ''}last_change = :change ${without}`,
      ExpressionAttributeValues: {
        ':one': 1,
        ':change': toWire(changeNote, change),
        ...present({ ':release': release }),
      },
    },
  };
}

/**
 * The new state of an ARQ whose bind was resolved, or is provisioning after a boot of its host.
 */
export function resolveArq(
  tables: BindingTables,
  arq: BoundArq,
  state: 'Bound' | 'BindFailed' | 'provisioning',
  now: string,
  failure?: string,
): TransactItem {
  const { attachment } = arq.binding;
  const info = state === 'Bound' ? attachment?.info : undefined;
  const set = setting({ state, updated_at: now, failure, handle_info: info });
  const taken = state === 'BindFailed' ? ` REMOVE ${attachmentAttributes.join(', ')}` : '';
  return {
    Update: {
      TableName: tables.arqs,
      Key: arqKey(arq.uuid),
      UpdateExpression: `${set.expression}${taken}`,
      ExpressionAttributeNames: set.names,
      ExpressionAttributeValues: set.values,
    },
  };
}

/** Makes the ARQ part of another bind of its instance, with the same handle. */
export function moveArq(
  tables: BindingTables,
  arq: BoundArq,
  bindId: BindId,
  now: string,
): TransactItem {
  return {
    Update: {
      TableName: tables.arqs,
      Key: arqKey(arq.uuid),
      UpdateExpression: 'SET bind_id = :bind, updated_at = :now',
      ExpressionAttributeValues: { ':bind': bindId, ':now': now },
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
      ConditionExpression: 'bind_id = :bind AND #state = :was AND arq_uuids = :were',
      ExpressionAttributeNames: set.names,
      ExpressionAttributeValues: {
        ...set.values,
        ':bind': binding.bindId,
        ':was': binding.state,
        ':were': binding.arqUuids,
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
  const condition = {
    // The list itself is a condition: two releases of different ARQs must not undo each other. The
    // state says which handles are held, and whether the host is at work on them.
    ConditionExpression: 'bind_id = :bind AND #state = :was AND arq_uuids = :were',
    ExpressionAttributeNames: { '#state': 'state' },
  };
  const values = {
    ':bind': binding.bindId,
    ':was': binding.state,
    ':were': binding.arqUuids,
  };
  return left.length === 0
    ? { Delete: { ...at, ...condition, ExpressionAttributeValues: values } }
    : {
        Update: {
          ...at,
          ...condition,
          UpdateExpression: 'SET arq_uuids = :left',
          ExpressionAttributeValues: { ...values, ':left': left },
        },
      };
}
