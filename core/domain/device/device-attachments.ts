// Compares what running servers have of a device, as its host says, with what is bound. Pure.
//
// A host is believed only about its own device: a unit without a handle of the device, and a
// server that no handle of the device is bound to, say nothing.

import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import type { InstanceUuid } from '#core/domain/ids.ts';
import { pciFunction } from '#core/shapes/attach-handle.ts';
import type { Shaped } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { attachmentFault } from '#core/shapes/device.ts';
import type { seenAttachments } from '#core/shapes/reported/device.ts';

export type SeenAttachments = Shaped<typeof seenAttachments>;
export type AttachmentFault = Shaped<typeof attachmentFault>;

/** A claim or a release may have been made while the report was on its way. */
const settledMs = 2 * 60_000;
/** In the row of a device. */
const faultsMax = 16;

interface Judgement {
  readonly faults: readonly AttachmentFault[];
  /** A handle has changed lately: its host must describe the device again. */
  readonly isEarly: boolean;
}

export function judgeAttachments(
  seen: SeenAttachments | undefined,
  handles: readonly AttachHandle[],
  now: string,
): Judgement {
  const byUnit = new Map(handles.map((handle) => [unitOf(handle), handle]));
  const faults: AttachmentFault[] = [];
  let isEarly = false;
  for (const { unit, instanceUuid, isAttached, since } of seen?.units ?? []) {
    const handle = byUnit.get(unit);
    if (!handle) continue;
    const server = instanceUuid.toLowerCase() as InstanceUuid;
    const holder = handle.claim?.instanceUuid;
    const ofHolder = projectOf(handle);
    if (!isAttached) {
      if (holder === server)
        faults.push({ kind: 'not-attached', unit, instanceUuid: server, ...ofHolder, since });
      continue;
    }
    if (holder === server) continue;
    const changedAt = handle.lastChange?.at;
    if (changedAt && Date.parse(now) - Date.parse(changedAt) < settledMs) isEarly = true;
    else if (holder === undefined)
      faults.push({ kind: 'not-bound', unit, instanceUuid: server, since });
    else {
      const kind = 'attached-elsewhere';
      faults.push({ kind, unit, instanceUuid: holder, ...ofHolder, heldBy: server, since });
    }
  }
  return { faults: withoutEffects(faults).slice(0, faultsMax), isEarly };
}

/** A server whose device another one has gets it back after the end of that one only. */
function withoutEffects(faults: readonly AttachmentFault[]): readonly AttachmentFault[] {
  const elsewhere = new Set(
    faults.filter(({ heldBy }) => heldBy !== undefined).map(({ unit }) => unit),
  );
  return faults.filter(({ kind, unit }) => kind !== 'not-attached' || !elsewhere.has(unit));
}

/** Names the difference in the history, from its begin to its end. */
export function faultKey({ kind, unit, instanceUuid, heldBy }: AttachmentFault): string {
  return JSON.stringify(present({ kind, unit, instanceUuid, heldBy }));
}

/** A clause that completes "The device at <address> ...". */
export function describeAttachment(
  { isGone }: Pick<Device, 'isGone'>,
  { kind, unit, instanceUuid, heldBy }: AttachmentFault,
): string {
  switch (kind) {
    case 'gone':
      if (!isGone)
        return `has no function ${unit} any more, and server ${instanceUuid} has lost it`;
      return `is gone from its host, and server ${instanceUuid} has lost it (${unit})`;
    case 'not-attached':
      return `is bound to server ${instanceUuid}, which runs without it (${unit})`;
    case 'not-bound':
      return `is attached to server ${instanceUuid}, and not bound to it (${unit})`;
    case 'attached-elsewhere':
      return `is bound to server ${instanceUuid}, and attached to server ${heldBy} (${unit})`;
  }
}

/**
 * The servers that lose functions of a card which its host reports without them. A vGPU that is
 * not reported may still run, and a function of a pool may be in another one.
 *
 * @param earlier faults: what is lost still is so since then
 */
export function lostFunctions(
  { address }: Pick<Device, 'address'>,
  unreported: readonly AttachHandle[],
  now: string,
  earlier: readonly AttachmentFault[] = [],
): readonly AttachmentFault[] {
  if (!address.includes(':')) return [];
  const since = new Map(earlier.map((fault) => [faultKey(fault), fault.since]));
  const functions = unreported.filter(({ type }) => type !== 'MDEV');
  return lostAttachments(functions, now).map((fault) => ({
    ...fault,
    since: since.get(faultKey(fault)) ?? now,
  }));
}

/** Without what is said of a unit that is lost. */
export function joinFaults(
  lost: readonly AttachmentFault[],
  others: readonly AttachmentFault[],
): readonly AttachmentFault[] {
  const isLost = new Set(lost.map(({ unit }) => unit));
  return [...lost, ...others.filter(({ unit }) => !isLost.has(unit))].slice(0, faultsMax);
}

/** Whether the server has lost this unit of the device. */
export function hasLostUnit(
  { attachmentFaults = [] }: Device,
  instanceUuid: InstanceUuid,
  unit: Unit,
): boolean {
  const ofServer = attachmentFaults.filter((fault) => fault.instanceUuid === instanceUuid);
  return ofServer.some((fault) => fault.kind === 'gone' && fault.unit === unitOf(unit));
}

/** Whether the server of the fault still has its unit. */
export function isHeld(
  { unit, instanceUuid }: AttachmentFault,
  handles: readonly AttachHandle[],
): boolean {
  return handles.some(
    (handle) => handle.claim?.instanceUuid === instanceUuid && unitOf(handle) === unit,
  );
}

/** The servers that lose what their host no longer reports. */
export function lostAttachments(
  handles: readonly AttachHandle[],
  since: string,
): readonly AttachmentFault[] {
  return handles
    .flatMap((handle): AttachmentFault[] => {
      const { instanceUuid } = handle.claim ?? {};
      const fault = { kind: 'gone', unit: unitOf(handle), since } as const;
      return instanceUuid ? [{ ...fault, instanceUuid, ...projectOf(handle) }] : [];
    })
    .slice(0, faultsMax);
}

function projectOf({ claim }: AttachHandle): Pick<AttachmentFault, 'projectId'> {
  return present({ projectId: claim?.facts?.projectId });
}

type Unit = Pick<AttachHandle, 'uuid' | 'type' | 'info'>;

function unitOf({ uuid, type, info }: Unit): string {
  return type === 'MDEV' ? uuid : (pciFunction({ info }) ?? uuid);
}
