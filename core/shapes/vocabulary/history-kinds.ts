// Without zod, so that a page of the console may import it.

/** What happened. The part before the dot is what it happened to. */
export const historyKinds = [
  /** The ARQ was created; it has no device yet. */
  'arq.created',
  /** An ARQ that had no device was deleted by a request, or by the sweep after its time. */
  'arq.deleted',
  /** An ARQ took the handle: an accelerator is used from here on. */
  'handle.claimed',
  /** The ARQ gave the handle back: `since` says from when on it was used. */
  'handle.released',
  /** The host confirmed the cleaning, with its evidence; or there was nothing to clean. */
  'handle.cleaned',
  'handle.quarantined',
  /** Handles of a restored backup that may be claimed again. */
  'handle.reinstated',
  'handle.added',
  /** The host no longer reports it. */
  'handle.gone',
  'handle.returned',
  'handle.removed',
  /** The host has made ready what was claimed. A bind that needs no host is only claimed. */
  'bind.bound',
  'bind.failed',
  /** The host has booted and makes ready again what the instance had. */
  'bind.reprovisioning',
  'device.added',
  'device.gone',
  'device.removed',
  /** An operator enabled or disabled it. */
  'device.status',
  /** A hold matches it; `reason` is the hold's. */
  'device.on-hold',
  'device.hold-ended',
  /** Another service offers it, too; `reason` names both its name and where it says so. */
  'device.offered-twice',
  'device.offered-once',
  'device.unhealthy',
  'device.healthy',
  /** A running server lacks the device that is bound to it, or has one that is not. */
  'device.not-attached',
  'device.attached',
  'device.conflict',
  'device.conflict-ended',
  /** Its host describes it otherwise; `reason` names the fields. */
  'device.changed',
  /** An operator released its handles by force. */
  'device.forced',
  /** A program of its shell or firmware begins, ends, or awaits a power cycle. */
  'device.programmed',
  /** An operator has a region programmed. */
  'region.programmed',
  'host.added',
  'host.booted',
  'host.connected',
  'host.disconnected',
  /** Its agent reports another version. */
  'host.upgraded',
  /** Two agents report as this host. */
  'host.conflict',
  'host.conflict-ended',
  /** Placement lacks resource providers of its devices. */
  'host.providers-lost',
  'host.providers-restored',
  /** Its clock differs from the control plane's by more than five seconds. */
  'host.clock-off',
  'host.clock-right',
  /** An operator said that it is gone for good. */
  'host.forgotten',
  'profile.created',
  /** Its groups, name, visibility or state; `reason` says which, with both values. */
  'profile.changed',
  'profile.deleted',
  /** A user's call that changes something, other than Nova's; see core/domain/history/calls.ts. */
  'call.done',
  'call.refused',
  /** The service could not answer it: what it asked for may be changed in part. */
  'call.failed',
] as const;
