// What a committed change of a row adds to the history. Pure: the same stream record, read again,
// gives the same records with the same ids.

import type { Arq, InstanceBinding } from '#core/domain/arq/arq.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import type { HandleClaim, HandlePlace } from '#core/domain/device/handle-claim.ts';
import { type HandleState, handleStateOf } from '#core/domain/device/handle-state.ts';
import { derivedUuid } from '#core/domain/ids.ts';
import type { Change } from '#core/domain/outbox/outbox.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { describeChange } from '#core/domain/profile/profile-changes.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { Draft, HistoryRecord } from './history.ts';
import { deviceDrafts } from './history-of-device.ts';
import { hostDrafts } from './history-of-host.ts';

interface ChangeMetadata {
  /** The stream's own id of the change, the same at each reading. */
  readonly id: string;
  /** Milliseconds since 1970, to the second. */
  readonly at: number;
}

/**
 * @param place where the handle of a change is, if {@link needsPlace}; a claim knows it
 */
export function deriveHistory(
  change: Change,
  { id, at }: ChangeMetadata,
  place?: HandlePlace,
): HistoryRecord[] {
  const committedAt = new Date(at).toISOString();
  return draftRecords(change).map((draft) => ({
    ...place,
    ...draft,
    id: derivedUuid('history', id, draft.kind, draft.profileName ?? ''),
    at: checkedTime(draft.at ?? committedAt),
  }));
}

/** A record is stored by its time. */
function checkedTime(at: string): string {
  if (Number.isNaN(Date.parse(at))) throw new Error(`Not a time in ISO 8601: ${at}`);
  return at;
}

function draftRecords(change: Change): Draft[] {
  switch (change.kind) {
    case 'arq':
      return arqDrafts(change.before, change.after);
    case 'instance':
      return bindingDrafts(change.before, change.after);
    case 'handle':
      return handleDrafts(change.before, change.after);
    case 'device':
      return deviceDrafts(change.before, change.after);
    case 'deployable':
      return regionDrafts(change);
    case 'host':
      return hostDrafts(change.before, change.after);
    case 'profile':
      return profileDrafts(change);
    case 'profile-deletion':
      return deletionDrafts(change);
    case 'job':
    case 'release':
    case 'program':
      return [];
  }
}

/** Whether the change is of a handle whose rows do not say where it is. */
export function needsPlace(change: Change): boolean {
  if (change.kind !== 'handle') return false;
  const { before, after } = change;
  return !before?.claim?.facts && !after?.claim?.facts && draftRecords(change).length > 0;
}

/** The changes of its handle record an ARQ that has one. */
function arqDrafts(before: Arq | undefined, after: Arq | undefined): Draft[] {
  const arq = after ?? before;
  if (!arq || (before && after)) return [];
  const { uuid, projectId, deviceProfileName, createdBy, requestId, createdAt, state } = arq;
  const common = { arqUuid: uuid, projectId, profileName: deviceProfileName };
  if (after) {
    return [
      {
        kind: 'arq.created',
        at: createdAt,
        to: state,
        ...common,
        ...present({ by: createdBy, requestId }),
      },
    ];
  }
  return arq.binding ? [] : [{ kind: 'arq.deleted', from: state, ...common }];
}

function bindingDrafts(
  before: InstanceBinding | undefined,
  after: InstanceBinding | undefined,
): Draft[] {
  // The claims record that a bind begins, and their ends that it ends.
  if (!before || !after || before.state === after.state) return [];
  const { instanceUuid, projectId, hostname, arqUuids, profileName } = after;
  const { requestId, resolvedAt, startedAt } = after;
  const common = {
    from: before.state,
    to: after.state,
    since: before.startedAt,
    instanceUuid,
    projectId,
    hostname,
    arqUuids,
    ...present({ profileName, requestId }),
  };
  switch (after.state) {
    case 'Bound':
      return [{ kind: 'bind.bound', at: resolvedAt, by: 'agent', ...common }];
    case 'BindFailed': {
      const { failure, failureCause } = after;
      const by = failureCause === 'deadline' ? 'sweep' : 'agent';
      const reason = failure && { reason: failure };
      return [{ kind: 'bind.failed', at: resolvedAt, by, ...common, ...reason }];
    }
    case 'provisioning':
      return [{ kind: 'bind.reprovisioning', at: startedAt, by: 'agent', ...common }];
    case 'BindStarted':
      return [];
  }
}

function handleDrafts(before: AttachHandle | undefined, after: AttachHandle | undefined): Draft[] {
  const handle = after ?? before;
  if (!handle) return [];
  const { uuid: handleUuid, providerUuid } = handle;
  const named = { handleUuid, providerUuid };
  if (!after) {
    const { claim } = handle;
    const removed = { ...claimPlace(claim), ...named };
    return [
      // A restore deletes handles that its backup does not have, also claimed ones.
      ...(claim ? [{ kind: 'handle.released', ...removed, ...claimEnd(claim) } as const] : []),
      { kind: 'handle.removed', ...removed },
    ];
  }
  const to = handleStateOf(after);
  if (!before) return [{ kind: 'handle.added', to, by: 'agent', ...named }];
  const from = handleStateOf(before);
  const at = { from, to, ...claimPlace(after.claim ?? before.claim), ...named };
  // The note of a restored row belongs to an earlier change.
  const isEarlier = (after.lastChange?.at ?? '') < (before.lastChange?.at ?? '');
  const note = after.restoredAt !== undefined && isEarlier ? {} : after.lastChange;
  const common = { ...at, ...note };
  return [
    ...claimDrafts(before, after, common),
    ...cleaningDrafts(before, after, common),
    ...(before.restoredAt !== undefined && after.restoredAt === undefined
      ? [{ kind: 'handle.reinstated', ...common, ...quarantineEnd(before) } as const]
      : []),
    // The host's report says so, at the time of the commit.
    ...(before.isGone === after.isGone
      ? []
      : [{ kind: after.isGone ? 'handle.gone' : 'handle.returned', by: 'agent', ...at } as const]),
  ];
}

type HandleDraft = Omit<Draft, 'kind'> & { readonly from: HandleState; readonly to: HandleState };

function claimDrafts(before: AttachHandle, after: AttachHandle, common: HandleDraft): Draft[] {
  if (before.claim?.arqUuid === after.claim?.arqUuid) return [];
  const { claim } = before;
  return [
    ...(claim ? [{ kind: 'handle.released', ...common, ...claimEnd(claim) } as const] : []),
    ...(after.claim
      ? [{ kind: 'handle.claimed', ...common, ...claimHolder(after.claim) } as const]
      : []),
  ];
}

function cleaningDrafts(before: AttachHandle, after: AttachHandle, common: HandleDraft): Draft[] {
  const drafts: Draft[] = [];
  if (after.quarantine !== undefined && before.quarantine === undefined) {
    drafts.push({ kind: 'handle.quarantined', ...common, reason: after.quarantine });
  }
  const isConfirmed = before.release !== undefined && after.release === undefined;
  if (isConfirmed) {
    const { lastCleaning } = after;
    const isNew = lastCleaning !== undefined && lastCleaning.at !== before.lastCleaning?.at;
    const evidence = isNew && { evidence: lastCleaning.evidence };
    drafts.push({ kind: 'handle.cleaned', ...common, ...evidence, ...quarantineEnd(before) });
  }
  return drafts;
}

function quarantineEnd({ quarantine: reason, quarantinedAt: since }: AttachHandle) {
  return present({ reason, since });
}

function claimPlace(claim: HandleClaim | undefined): Partial<HandlePlace> {
  if (!claim?.facts) return {};
  const { hostname, deviceUuid, resourceClass } = claim.facts;
  return { hostname, deviceUuid, ...present({ resourceClass }) };
}

function claimEnd(claim: HandleClaim) {
  return { ...claimHolder(claim), ...present({ since: claim.facts?.at }) };
}

function claimHolder({ arqUuid, instanceUuid, facts }: HandleClaim) {
  const { projectId, profileName } = facts ?? {};
  return { arqUuid, instanceUuid, ...present({ projectId, profileName }) };
}

function regionDrafts({ before, after }: Extract<Change, { kind: 'deployable' }>): Draft[] {
  const program = after?.program;
  if (!after || !program) return [];
  const was = before?.program?.at === program.at ? before.program.state : undefined;
  if (was === program.state) return [];
  const { hostname, deviceUuid, providerUuid } = after;
  return [
    {
      kind: 'region.programmed',
      ...present({ from: was }),
      to: program.state,
      // The end has no time of its own.
      at: was ? undefined : program.at,
      by: was ? 'agent' : `user:${program.by}`,
      hostname,
      deviceUuid,
      providerUuid,
      reason: program.reason ?? `image ${program.image}`,
    },
  ];
}

function profileDrafts({ before, after }: Extract<Change, { kind: 'profile' }>): Draft[] {
  if (!after) return [];
  if (before) return profileChangeDrafts(before, after);
  const { name, revision, createdAt, createdBy, requestId } = after;
  // A renamed profile is a new row, and the row of its former name is of no profile.
  if (revision > 1) return profileChangeDrafts({ ...after, name: formerName(after) }, after);
  return [
    {
      kind: 'profile.created',
      at: createdAt,
      profileName: name,
      ...present({ by: createdBy, requestId }),
    },
  ];
}

function formerName({ name, formerNames = [] }: DeviceProfile): string {
  return formerNames.at(-1) ?? name;
}

function profileChangeDrafts(before: DeviceProfile, after: DeviceProfile): Draft[] {
  const { name, updatedAt, updatedBy, updateRequestId } = after;
  const reason = describeChange(before, after);
  if (reason === '') return [];
  return [
    {
      kind: 'profile.changed',
      profileName: name,
      reason,
      ...present({ at: updatedAt, by: updatedBy, requestId: updateRequestId }),
    },
  ];
}

/** The row of the deletion says who; a deleted row does not. */
function deletionDrafts({ before, after }: Extract<Change, { kind: 'profile-deletion' }>): Draft[] {
  if (before || !after) return [];
  const { names, ...note } = after;
  return names.map((profileName) => ({ kind: 'profile.deleted', profileName, ...note }));
}
