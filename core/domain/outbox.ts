// What follows from a committed change. The tables' streams are the outbox: operations write state
// and nothing else; this says, from the two images of a row, what must happen because of it.

import type { HostRelease, InstanceBinding, JobNote } from './arq.ts';
import type { AttachHandle, Device } from './device.ts';
import { isUnheld } from './handle-state.ts';
import type { ProviderUuid } from './ids.ts';

/** A change of a row that something can follow from. */
export type Change =
  | {
      readonly kind: 'instance';
      readonly before?: InstanceBinding;
      readonly after?: InstanceBinding;
    }
  | {
      readonly kind: 'job';
      readonly uuid: string;
      readonly before?: JobNote;
      readonly after?: JobNote;
    }
  | { readonly kind: 'release'; readonly before?: HostRelease; readonly after?: HostRelease }
  | {
      readonly kind: 'device';
      readonly before?: Device;
      readonly after?: Device;
      /** That set its status just now. */
      readonly requestId?: string;
    }
  | { readonly kind: 'handle'; readonly before?: AttachHandle; readonly after?: AttachHandle };

export type FollowUp =
  | { readonly kind: 'tell-nova'; readonly binding: InstanceBinding }
  | { readonly kind: 'start-bind'; readonly binding: InstanceBinding }
  | { readonly kind: 'make-again'; readonly jobUuid: string }
  | { readonly kind: 'start-release'; readonly release: HostRelease }
  | {
      readonly kind: 'sync-providers';
      readonly providerUuid: ProviderUuid;
      readonly requestId?: string;
    };

export function followUps(change: Change): FollowUp[] {
  switch (change.kind) {
    case 'instance':
      return bindingFollowUps(change);
    case 'job':
      return change.after?.bootedHost && !change.before
        ? [{ kind: 'make-again', jobUuid: change.uuid }]
        : [];
    case 'release':
      return change.after && !change.before
        ? [{ kind: 'start-release', release: change.after }]
        : [];
    case 'device':
      // The device's own provider is always the first.
      return syncOf(change.after?.providers[0], change.requestId);
    case 'handle':
      return handleFollowUps(change);
  }
}

function bindingFollowUps({ before, after }: Extract<Change, { kind: 'instance' }>): FollowUp[] {
  if (!after) return [];
  if (before?.bindId === after.bindId && before.state === after.state) return [];
  switch (after.state) {
    case 'BindStarted':
      return [{ kind: 'start-bind', binding: after }];
    case 'Bound':
    case 'BindFailed':
      return [{ kind: 'tell-nova', binding: after }];
    case 'provisioning':
      // Its host's job is made for several instances, and follows from its own row.
      return [];
  }
}

function handleFollowUps({ before, after }: Extract<Change, { kind: 'handle' }>): FollowUp[] {
  if (!after) return [];
  // Its host no longer reports it, and nothing holds it any more.
  if (after.isGone && isUnheld(after)) return syncOf(after.providerUuid);
  if (!before) return [];
  // Placement reserves what is in quarantine, or was restored; what is restored comes with its device.
  const isReleased = before.restoredAt !== undefined && after.restoredAt === undefined;
  return before.quarantine !== after.quarantine || isReleased ? syncOf(after.providerUuid) : [];
}

function syncOf(providerUuid: ProviderUuid | undefined, requestId?: string): FollowUp[] {
  if (!providerUuid) return [];
  return [{ kind: 'sync-providers', providerUuid, ...(requestId && { requestId }) }];
}
