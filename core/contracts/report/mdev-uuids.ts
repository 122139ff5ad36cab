// Uuids of mdevs that exist before any bind. An attach handle's uuid is its name in lists, claims
// and usage, so no two hosts may report the same one. The agent and the control plane derive them
// alike, and a uuid of another host, parent or type is refused. No row has to be compared, so two
// reports at the same moment cannot pass each other, and no host can take the uuid of another
// before that one has reported it.

import { createHash } from 'node:crypto';
import type { ReportedHandle } from '#core/contracts/attach-handle.ts';
import { pciFunction } from '#core/shapes/attach-handle.ts';

/** The mdevs of one type on one parent device of a host. */
export interface MdevPlace {
  /** The host's name in AWS IoT. */
  readonly thing: string;
  /** The PCI address of the parent, or the kernel's name for it. */
  readonly parent: string;
  readonly type: string;
}

/** A UUID of version 8; the same after each boot. https://www.rfc-editor.org/rfc/rfc9562 */
export function mdevUuid(place: MdevPlace, index: number): string {
  return `${mdevUuidPrefix(place)}${index.toString(16).padStart(12, '0')}`;
}

/** All of the uuid but its last part, which counts the parent's mdevs. */
export function mdevUuidPrefix({ thing, parent, type }: MdevPlace): string {
  const hash = createHash('sha256').update(`mdev ${thing} ${parent} ${type}`).digest('hex');
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(12, 15)}-8${hash.slice(15, 18)}-`;
}

/** Why the handle of a device of the host may not have its uuid; undefined if it may. */
export function findUuidFault(
  thing: string,
  address: string,
  { info, uuid }: ReportedHandle,
): string | undefined {
  const parent = pciFunction({ info }) ?? address;
  const type = info.asked_type ?? '';
  const prefix = mdevUuidPrefix({ thing, parent, type });
  if (uuid === undefined || uuid.toLowerCase().startsWith(prefix)) return undefined;
  return `the uuid ${uuid} is not one of this host's mdevs of type ${type} on ${parent}: it must begin with ${prefix}`;
}
