// Claims and releases: one transaction over ARQs, attach handles and the instance's row. Each row
// carries its own condition, so that of any number of claims on a handle exactly one holds.

import type { BindFailure, InstanceBinding } from '#core/domain/arq/arq.ts';
import type { Claim } from '#core/domain/arq/bind-plan.ts';
import { type ChangeNote, laterOf } from '#core/domain/change-note.ts';
import { failedBindKeptMs } from '#core/domain/host-work/deadlines.ts';
import type { HostRelease } from '#core/domain/host-work/host-work.ts';
import type { ArqUuid, BindId, InstanceUuid } from '#core/domain/ids.ts';
import { present } from '#core/shapes/derive/present.ts';
import { instanceRow } from '#core/store/rows/arq-rows.ts';
import { workRow } from '#core/store/rows/host-work-rows.ts';
import { handleKey, hostKey, instanceKey } from '#core/store/rows/rows.ts';
import { duePartition } from '#core/store/rows/shards.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { type TransactItem, transact, updateIf } from '#core/store/table/writes.ts';
import {
  type BindingTables,
  type BoundArq,
  claimArq,
  claimHandle,
  deleteArq,
  giveBackHandle,
  moveArq,
  releaseInstance,
  resolveArq,
  resolveInstance,
  unbindArq,
} from './binding-items.ts';

export interface BindingStore {
  /**
   * Contended: an ARQ or handle has changed since it was read, or the instance has a binding.
   *
   * @param dueAt deadline of a binding that is only started
   */
  claim(
    binding: InstanceBinding,
    claims: readonly Claim[],
    change: ChangeNote,
    dueAt?: string,
  ): Promise<'claimed' | 'contended'>;
  /**
   * Ends claims of one binding and releases their handles; the ARQs are deleted, or left unbound.
   */
  release(binding: InstanceBinding, release: Release): Promise<'released' | 'contended'>;
  /**
   * Gives a bind that has only started another id, so that it starts again. The handles stay
   * claimed. False as below.
   */
  startAgain(
    binding: InstanceBinding,
    arqs: readonly BoundArq[],
    bindId: BindId,
    now: string,
    dueAt: string,
  ): Promise<boolean>;
  /** Stores that Nova may wait for the event of the bind under way. False if none is. */
  awaitEvent(instanceUuid: InstanceUuid): Promise<boolean>;
  /** Makes the whole binding `provisioning`, after a boot of its host. False as below. */
  provision(
    binding: InstanceBinding,
    arqs: readonly BoundArq[],
    job: ReprovisionJob,
    now: string,
    dueAt: string,
  ): Promise<boolean>;
  /** Stores that the binding is still ready under a later boot. */
  keep(binding: InstanceBinding, bootId: string): Promise<void>;
  /** Sets when the sweep looks at the binding again. */
  postpone(binding: InstanceBinding, dueAt: string): Promise<void>;
  /**
   * Makes the whole binding Bound, with what each ARQ's hypervisor attaches. False if the binding
   * has changed or is resolved, or if its host has booted again after the boot in which it was
   * made ready.
   */
  succeed(
    binding: InstanceBinding,
    arqs: readonly BoundArq[],
    now: string,
    bootId?: string,
  ): Promise<boolean>;
  /** Makes the whole binding BindFailed, and releases its handles. False as above. */
  fail(binding: InstanceBinding, failure: BindFailure, release: Release): Promise<boolean>;
}

/** The job that reprovisions a binding, and the boot that it is for. */
interface ReprovisionJob {
  readonly uuid: string;
  readonly bootId: string;
}

export interface Release {
  /** All bound by the binding. */
  readonly arqs: readonly BoundArq[];
  readonly fate: 'deleted' | 'unbound';
  /** ARQs that the instance keeps. */
  readonly left: readonly ArqUuid[];
  /** What the host has to clean up first; its handles are not free until it has. */
  readonly cleaning?: Cleaning;
  readonly change: ChangeNote;
  /** Until when ARQs that are left unbound are kept. */
  readonly unboundUntil: string;
}

export interface Cleaning {
  readonly release: HostRelease;
  /** When the host must have confirmed. */
  readonly dueAt: string;
}

export function bindingStore(client: Documents, tables: BindingTables): BindingStore {
  return {
    async claim(binding, claims, change, dueAt) {
      const outcome = await transact(client, [
        ...claims.flatMap((claim) => [
          claimArq(tables, binding, claim, change.at),
          claimHandle(tables, binding, claim, change),
        ]),
        {
          Put: {
            TableName: tables.arqs,
            Item: instanceRow(binding, dueAt),
            ConditionExpression: 'attribute_not_exists(pk)',
          },
        },
      ]);
      return outcome === 'done' ? 'claimed' : 'contended';
    },

    async release(binding, release) {
      const { arqs, fate, left } = release;
      const outcome = await transact(client, [
        ...arqs.map((arq) =>
          fate === 'deleted' ? deleteArq(tables, arq) : unbindArq(tables, arq, release),
        ),
        ...giveBack(tables, release),
        releaseInstance(tables, binding, left),
      ]);
      return outcome === 'done' ? 'released' : 'contended';
    },

    async startAgain(binding, arqs, bindId, now, dueAt) {
      const outcome = await transact(client, [
        ...arqs.map((arq) => moveArq(tables, arq, bindId, now)),
        resolveInstance(tables, binding, {
          state: 'BindStarted',
          bind_id: bindId,
          due: duePartition('binding', binding.instanceUuid),
          due_at: dueAt,
        }),
      ]);
      return outcome === 'done';
    },

    awaitEvent(instanceUuid) {
      return updateIf(client, {
        TableName: tables.arqs,
        Key: instanceKey(instanceUuid),
        UpdateExpression: 'SET is_awaited = :awaited',
        ConditionExpression: '#state = :started',
        ExpressionAttributeNames: { '#state': 'state' },
        ExpressionAttributeValues: { ':awaited': true, ':started': 'BindStarted' },
      });
    },

    async provision(binding, arqs, job, now, dueAt) {
      const outcome = await transact(client, [
        ...arqs.map((arq) => resolveArq(tables, arq, 'provisioning', now)),
        resolveInstance(tables, binding, {
          state: 'provisioning',
          started_at: now,
          job_uuid: job.uuid,
          boot_id: job.bootId,
          due: duePartition('binding', binding.instanceUuid),
          due_at: dueAt,
        }),
      ]);
      return outcome === 'done';
    },

    async keep({ instanceUuid, bootId: earlier }, bootId) {
      if (earlier === undefined) return;
      await updateIf(client, {
        TableName: tables.arqs,
        Key: instanceKey(instanceUuid),
        UpdateExpression: 'SET boot_id = :boot',
        // A newer binding of the instance has another boot.
        ConditionExpression: 'boot_id = :earlier',
        ExpressionAttributeValues: { ':earlier': earlier, ':boot': bootId },
      });
    },

    async postpone({ instanceUuid, bindId }, dueAt) {
      await updateIf(client, {
        TableName: tables.arqs,
        Key: instanceKey(instanceUuid),
        UpdateExpression: 'SET due_at = :due',
        // The time has no effect on a binding that was resolved meanwhile.
        ConditionExpression: 'bind_id = :bind',
        ExpressionAttributeValues: { ':bind': bindId, ':due': dueAt },
      });
    },

    async succeed(binding, arqs, now, bootId) {
      const outcome = await transact(client, [
        ...arqs.map((arq) => resolveArq(tables, arq, 'Bound', now)),
        // Nova is notified again of a binding that was provisioning, so its start is now.
        resolveInstance(tables, binding, {
          state: 'Bound',
          resolved_at: now,
          ...(binding.state === 'provisioning' && { started_at: now }),
          ...present({ boot_id: bootId }),
        }),
        ...(bootId ? [underBoot(tables, binding.hostname, bootId)] : []),
      ]);
      return outcome === 'done';
    },

    async fail(binding, { cause, reason }, release) {
      const { at: now } = release.change;
      const outcome = await transact(client, [
        ...release.arqs.map((arq) => resolveArq(tables, arq, 'BindFailed', now, reason)),
        ...giveBack(tables, release),
        resolveInstance(tables, binding, {
          state: 'BindFailed',
          failure: reason,
          failure_cause: cause,
          resolved_at: now,
          due: duePartition('binding', binding.instanceUuid),
          due_at: new Date(Date.parse(now) + failedBindKeptMs).toISOString(),
        }),
      ]);
      return outcome === 'done';
    },
  };
}

function underBoot({ inventory }: BindingTables, hostname: string, bootId: string): TransactItem {
  return {
    ConditionCheck: {
      TableName: inventory,
      Key: hostKey(hostname),
      ConditionExpression: 'boot_id = :boot',
      ExpressionAttributeValues: { ':boot': bootId },
    },
  };
}

/** The handles of a release: free at once, or when their host has confirmed. */
function giveBack(tables: BindingTables, { arqs, cleaning, change }: Release): TransactItem[] {
  const handles = arqs.flatMap((arq) => {
    const { providerUuid, attachment } = arq.binding;
    if (!attachment) return [];
    const isCleaned = cleaning?.release.handles.some(
      ({ handleUuid }) => handleUuid === attachment.handleUuid,
    );
    const key = handleKey(providerUuid, attachment.handleUuid);
    // The claim is at least as late as the ARQ's last change.
    const at = laterOf(change.at, arq.updatedAt);
    const release = isCleaned ? cleaning?.release.id : undefined;
    return [giveBackHandle(tables, key, release, { ...change, at })];
  });
  if (!cleaning) return handles;
  const row = {
    Put: { TableName: tables.arqs, Item: workRow(cleaning.release, cleaning.dueAt) },
  };
  return [...handles, row];
}
