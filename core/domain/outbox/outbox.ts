// The consequences of a committed change. The tables' streams are the outbox: operations only
// write state; this file derives from the two images of a row what must happen.

import type { Arq, InstanceBinding } from '#core/domain/arq/arq.ts';
import type { AttachHandle, Deployable, Device } from '#core/domain/device/device.ts';
import { handleStateOf, isClaimable, isUnheld } from '#core/domain/device/handle-state.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import type {
  HostProgram,
  HostRelease,
  JobNote,
  QueuedWorkKind,
} from '#core/domain/host-work/host-work.ts';
import type { BindId, InstanceUuid, ProviderUuid, ReleaseId } from '#core/domain/ids.ts';
import type { DeviceProfile, ProfileDeletion } from '#core/domain/profile/device-profile.ts';
import { present } from '#core/shapes/derive/present.ts';

/** The two images of a row. */
interface Images<T> {
  readonly before?: T;
  readonly after?: T;
}

/** A change of a row that can have consequences. */
export type Change =
  | ({ readonly kind: 'instance' } & Images<InstanceBinding>)
  | ({ readonly kind: 'job'; readonly uuid: string } & Images<JobNote>)
  | ({ readonly kind: 'release' } & Images<HostRelease>)
  | ({ readonly kind: 'program' } & Images<HostProgram>)
  | ({
      readonly kind: 'device';
      /** The request that has just set the device's status. */
      readonly requestId?: string;
    } & Images<Device>)
  | ({ readonly kind: 'handle' } & Images<AttachHandle>)
  // The history alone follows from these.
  | ({ readonly kind: 'arq' } & Images<Arq>)
  | ({ readonly kind: 'deployable' } & Images<Deployable>)
  | ({ readonly kind: 'host' } & Images<HostSummary>)
  | ({ readonly kind: 'profile' } & Images<DeviceProfile>)
  | ({ readonly kind: 'profile-deletion' } & Images<ProfileDeletion>);

/** Host work to start, with what its message names. */
export type StartedWork = {
  readonly kind: QueuedWorkKind;
  readonly requestId?: string | undefined;
} & (
  | { readonly kind: 'bind'; readonly instanceUuid: InstanceUuid; readonly bindId: BindId }
  | { readonly kind: 'release'; readonly releaseId: ReleaseId }
  | { readonly kind: 'reprovision'; readonly jobUuid: string }
  | { readonly kind: 'program'; readonly programId: ReleaseId }
);

export type FollowUp =
  | {
      readonly kind: 'notify-nova';
      readonly binding: InstanceBinding;
      /** False: Nova finds the bind resolved when it lists the ARQs, and does not wait. */
      readonly isAwaited: boolean;
    }
  | { readonly kind: 'look-at-server'; readonly binding: InstanceBinding }
  | { readonly kind: 'start-work'; readonly work: StartedWork }
  | {
      readonly kind: 'sync-providers';
      readonly providerUuid: ProviderUuid;
      readonly requestId?: string;
    }
  | { readonly kind: 'restore-tree'; readonly hostname: string };

export function followUps(change: Change): FollowUp[] {
  switch (change.kind) {
    case 'instance':
      return [...bindingFollowUps(change), ...lookAt(change), ...syncReserving(change)];
    case 'job':
      return change.after?.bootedHost && !change.before
        ? startWork({ kind: 'reprovision', jobUuid: change.uuid })
        : [];
    case 'release': {
      if (!change.after || change.before) return [];
      const { id: releaseId, requestId } = change.after;
      return startWork({ kind: 'release', releaseId, requestId });
    }
    case 'program': {
      // The sweep starts one whose device is drained first, as another program.
      if (!change.after || change.before || change.after.component?.isDraining) return [];
      const { id: programId, requestId } = change.after;
      return startWork({ kind: 'program', programId, requestId });
    }
    case 'device':
      // The device's own provider is always the first.
      return syncProvider(change.after?.providers[0], change.requestId);
    case 'handle':
      return handleFollowUps(change);
    case 'host':
      return hostFollowUps(change);
    case 'arq':
    case 'deployable':
    case 'profile':
    case 'profile-deletion':
      return [];
  }
}

function startWork(work: StartedWork): FollowUp[] {
  return [{ kind: 'start-work', work }];
}

function bindingFollowUps({ before, after }: Extract<Change, { kind: 'instance' }>): FollowUp[] {
  if (!after) return [];
  if (before?.bindId === after.bindId && before.state === after.state) return [];
  // Nova heard of it from the service that made it.
  if (!before && after.isImported) return [];
  switch (after.state) {
    case 'BindStarted': {
      const { instanceUuid, bindId, requestId } = after;
      return startWork({ kind: 'bind', instanceUuid, bindId, requestId });
    }
    case 'Bound':
    case 'BindFailed':
      return [{ kind: 'notify-nova', binding: after, isAwaited: isAwaited(before, after) }];
    case 'provisioning':
      // One job reprovisions several instances: the row of the job starts it.
      return [];
  }
}

/** Nova may have deleted the server before the bind, and deletes no ARQs then. */
function lookAt({ before, after }: Extract<Change, { kind: 'instance' }>): FollowUp[] {
  if (!after || before?.bindId === after.bindId || after.isImported) return [];
  const holds = after.state === 'BindStarted' || after.state === 'Bound';
  return holds ? [{ kind: 'look-at-server', binding: after }] : [];
}

/** Placement reserves other units after each change of an instance without an allocation. */
function syncReserving({ before, after }: Extract<Change, { kind: 'instance' }>): FollowUp[] {
  const reserving = [before?.reservedProviders ?? [], after?.reservedProviders ?? []].flat();
  return [...new Set(reserving)].flatMap((providerUuid) => syncProvider(providerUuid));
}

/** A bind that ends in its own transaction ends before the PATCH is answered. */
function isAwaited(before: InstanceBinding | undefined, after: InstanceBinding): boolean {
  if (before?.bindId !== after.bindId) return false;
  return before.state !== 'BindStarted' || after.isAwaited !== false;
}

function handleFollowUps({ before, after }: Extract<Change, { kind: 'handle' }>): FollowUp[] {
  if (!after) return [];
  // The host no longer reports the handle, and no claim or release holds it.
  if (after.isGone && isUnheld(after)) return syncProvider(after.providerUuid);
  if (!before) return [];
  // Placement reserves handles that are in quarantine, restored, or cleaned for long. A restored
  // handle comes with its device.
  const isReleased = before.restoredAt !== undefined && after.restoredAt === undefined;
  const isOther =
    before.quarantine !== after.quarantine ||
    isCleaning(before) !== isCleaning(after) ||
    // Placement has a unit that is gone for as long as a server holds it.
    (after.isGone && before.claim !== undefined && after.claim === undefined) ||
    // What a pool can give together changes with each claim and release.
    (after.locality !== undefined && isClaimable(before) !== isClaimable(after));
  return isOther || isReleased ? syncProvider(after.providerUuid) : [];
}

/** Nova may have deleted the tree of the host with its compute service, while it was away. */
function hostFollowUps({ before, after }: Extract<Change, { kind: 'host' }>): FollowUp[] {
  if (!after || !before) return [];
  const { presence, hostname } = after;
  const isBack = presence?.isConnected === true && before.presence?.since !== presence.since;
  return isBack ? [{ kind: 'restore-tree', hostname }] : [];
}

function isCleaning(handle: AttachHandle): boolean {
  return handleStateOf(handle) === 'cleaning';
}

function syncProvider(providerUuid: ProviderUuid | undefined, requestId?: string): FollowUp[] {
  if (!providerUuid) return [];
  return [{ kind: 'sync-providers', providerUuid, ...present({ requestId }) }];
}
