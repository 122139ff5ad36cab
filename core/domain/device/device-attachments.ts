// Compares what running servers have of a device, as its host says, with what is bound. Pure.
//
// A host is believed only about its own device: a unit without a handle of the device, and a
// server that no handle of the device is bound to, say nothing.

import type { AttachHandle } from '#core/domain/device/device.ts';
import type { InstanceUuid } from '#core/domain/ids.ts';
import { pciFunction } from '#core/shapes/attach-handle.ts';
import type { Shaped } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { attachmentFault } from '#core/shapes/device.ts';
import type { seenAttachments } from '#core/shapes/reported-device.ts';

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
export function describeAttachment({ kind, unit, instanceUuid, heldBy }: AttachmentFault): string {
  switch (kind) {
    case 'gone':
      return `is gone from its host, and server ${instanceUuid} has lost it (${unit})`;
    case 'not-attached':
      return `is bound to server ${instanceUuid}, which runs without it (${unit})`;
    case 'not-bound':
      return `is attached to server ${instanceUuid}, and not bound to it (${unit})`;
    case 'attached-elsewhere':
      return `is bound to server ${instanceUuid}, and attached to server ${heldBy} (${unit})`;
  }
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

function unitOf(handle: AttachHandle): string {
  return handle.type === 'MDEV' ? handle.uuid : (pciFunction(handle) ?? handle.uuid);
}
