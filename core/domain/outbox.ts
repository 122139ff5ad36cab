// What follows from a committed change. The tables' streams are the outbox: operations write state
// and nothing else; this says, from the two images of a row, what must happen because of it.

import type { InstanceBinding } from './arq.ts';
import type { AttachHandle, Device } from './device.ts';
import type { ProviderUuid } from './ids.ts';

/** A change of a row that something can follow from. */
export type Change =
  | {
      readonly kind: 'instance';
      readonly before?: InstanceBinding;
      readonly after?: InstanceBinding;
    }
  | { readonly kind: 'device'; readonly before?: Device; readonly after?: Device }
  | { readonly kind: 'handle'; readonly before?: AttachHandle; readonly after?: AttachHandle };

export type FollowUp =
  | { readonly kind: 'tell-nova'; readonly binding: InstanceBinding }
  | { readonly kind: 'sync-providers'; readonly providerUuid: ProviderUuid };

export function followUps(change: Change): FollowUp[] {
  switch (change.kind) {
    case 'instance':
      return isNewlyResolved(change) ? [{ kind: 'tell-nova', binding: change.after }] : [];
    case 'device':
      // The device's own provider is always the first.
      return syncOf(change.after?.providers[0]);
    case 'handle':
      // A handle that its host no longer reports, and whose last claim has just ended.
      return change.after?.isGone && !change.after.claim ? syncOf(change.after.providerUuid) : [];
  }
}

function isNewlyResolved(
  change: Extract<Change, { kind: 'instance' }>,
): change is typeof change & { after: InstanceBinding } {
  const { before, after } = change;
  if (!after || after.state === 'BindStarted') return false;
  return before?.bindId !== after.bindId || before.state !== after.state;
}

function syncOf(providerUuid: ProviderUuid | undefined): FollowUp[] {
  return providerUuid ? [{ kind: 'sync-providers', providerUuid }] : [];
}
