// Domain events that follow from a committed change of a row, for example a bind that ended. They
// are counted (core/operations/outbox/count-changes.ts) and announced
// (core/operations/outbox/announce.ts); outbox.ts has the follow-ups.

import type { BindFailureCause, InstanceBinding } from '#core/domain/arq/arq.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import { type AttachmentFault, faultKey } from '#core/domain/device/device-attachments.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import type { Change } from './outbox.ts';

/** What the bind waited for: nothing, its host, or reprovisioning after a boot. */
export const bindKinds = ['at-once', 'by-host', 'after-boot'] as const;
type BindKind = (typeof bindKinds)[number];

export type DomainEvent =
  | {
      readonly kind: 'bound';
      readonly binding: InstanceBinding;
      readonly how: BindKind;
      /** Milliseconds. */
      readonly tookMs: number;
    }
  | {
      readonly kind: 'failed';
      readonly binding: InstanceBinding;
      /** A row without a cause counts as `unknown`. */
      readonly cause: BindFailureCause | 'unknown';
    }
  /** The released ARQs; the instance may keep others. */
  | {
      readonly kind: 'released';
      readonly binding: InstanceBinding;
      readonly arqUuids: readonly ArqUuid[];
    }
  | { readonly kind: 'device-added'; readonly device: Device }
  | { readonly kind: 'device-removed'; readonly device: Device }
  /** Two agents report as its host. */
  | { readonly kind: 'device-in-conflict'; readonly device: Device; readonly since: string }
  /** A running server lacks it, or has it without a bind. */
  | {
      readonly kind: 'device-not-attached';
      readonly device: Device;
      readonly fault: AttachmentFault;
    }
  /** A fault of the device began, changed its degree, or ended. */
  | { readonly kind: 'device-health'; readonly device: Device }
  | { readonly kind: 'quarantined'; readonly handle: AttachHandle; readonly reason: string };

export function toDomainEvents(change: Change): DomainEvent[] {
  switch (change.kind) {
    case 'instance':
      return [...resolution(change), ...released(change)];
    case 'device':
      return deviceFacts(change);
    case 'handle': {
      const { before, after } = change;
      const isNews = after?.quarantine !== undefined && before?.quarantine === undefined;
      return isNews
        ? [{ kind: 'quarantined', handle: after, reason: after.quarantine as string }]
        : [];
    }
    case 'job':
    case 'release':
    case 'program':
    case 'arq':
    case 'deployable':
    case 'host':
    case 'profile':
    case 'profile-deletion':
      return [];
  }
}

type InstanceChange = Extract<Change, { kind: 'instance' }>;

function resolution({ before, after }: InstanceChange): DomainEvent[] {
  // An import is no bind.
  if (!after || (!before && after.isImported)) return [];
  const earlier = before?.bindId === after.bindId ? before : undefined;
  if (earlier?.state === after.state) return [];
  if (after.state === 'BindFailed') {
    return [{ kind: 'failed', binding: after, cause: after.failureCause ?? 'unknown' }];
  }
  if (after.state !== 'Bound') return [];
  // `startedAt` of a binding that was reprovisioned is the start of the reprovisioning.
  const startedAt = Date.parse((earlier ?? after).startedAt);
  const resolvedAt = Date.parse(after.resolvedAt ?? after.startedAt);
  return [
    { kind: 'bound', binding: after, how: howBound(earlier), tookMs: resolvedAt - startedAt },
  ];
}

function howBound(earlier: InstanceBinding | undefined): BindKind {
  if (!earlier) return 'at-once';
  return earlier.state === 'provisioning' ? 'after-boot' : 'by-host';
}

/** A failed bind released its handles when it failed. */
function released({ before, after }: InstanceChange): DomainEvent[] {
  if (!before || before.state === 'BindFailed') return [];
  // A bind that starts again under another id, after a boot of its host, keeps its ARQs.
  const isAgain = before.state === 'BindStarted' && after?.state === 'BindStarted';
  const kept = after?.bindId === before.bindId || isAgain ? after.arqUuids : [];
  const arqUuids = before.arqUuids.filter((uuid) => !kept.includes(uuid));
  return arqUuids.length > 0 ? [{ kind: 'released', binding: before, arqUuids }] : [];
}

function deviceFacts({ before, after }: Extract<Change, { kind: 'device' }>): DomainEvent[] {
  // The event was sent when the device was marked as gone, long before its row is deleted.
  if (!after) return [];
  const since = before?.conflictSince === undefined ? after.conflictSince : undefined;
  const inConflict: DomainEvent[] = since
    ? [{ kind: 'device-in-conflict', device: after, since }]
    : [];
  const earlier = new Set(before?.attachmentFaults?.map(faultKey));
  const notAttached: DomainEvent[] = (after.attachmentFaults ?? [])
    .filter((fault) => !earlier.has(faultKey(fault)))
    .map((fault) => ({ kind: 'device-not-attached', device: after, fault }));
  const isHealthNews = hasFault(before) || hasFault(after);
  const health: DomainEvent[] =
    isHealthNews && before?.health?.state !== after.health?.state && !after.isGone
      ? [{ kind: 'device-health', device: after }]
      : [];
  const faults = [...inConflict, ...notAttached, ...health];
  const wasThere = before !== undefined && !before.isGone;
  if (wasThere === !after.isGone) return faults;
  return [...faults, { kind: wasThere ? 'device-removed' : 'device-added', device: after }];
}

function hasFault(device: Device | undefined): boolean {
  return device?.health?.state === 'degraded' || device?.health?.state === 'unhealthy';
}
