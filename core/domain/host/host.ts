// A compute node that runs the agent, as its row says.

import type { Shaped } from '#core/shapes/derive/case.ts';
import type { notOffered, presence, storedHost } from '#core/shapes/host.ts';
import type { IdentityConflict } from './identity.ts';

/** What the domain has under the same names as the row. */
type SameFields = Omit<
  Shaped<typeof storedHost>,
  'lastReceivedMs' | 'reprovisioning' | 'conflictSince' | 'conflictBoots'
>;

export interface StoredHost extends SameFields {
  readonly hostname: string;
  readonly lastReceivedAtMs: number;
  /** Reprovisioning after its last boot has not finished. */
  readonly isReprovisioning: boolean;
  /** Set while two agents report as this host. */
  readonly conflict?: IdentityConflict;
}

export type RefusedDevices = StoredHost['refused'];
export type NotOffered = Shaped<typeof notOffered>;
export type Presence = Shaped<typeof presence>;

/** What is refused now; the others are remembered for places that are empty. */
export function refusedNow(refused: RefusedDevices = {}): [string, RefusedDevices[string]][] {
  return Object.entries(refused).filter(([, { digest }]) => digest !== '');
}
