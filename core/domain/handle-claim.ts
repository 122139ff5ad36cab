// The claim of an ARQ on an attach handle, with what the history says of it.

import type { Deployable } from './device.ts';
import type { ArqUuid, DeviceUuid, InstanceUuid } from './ids.ts';

/** Where a handle is, and Placement's class of its units: what its deployable says. */
export interface HandlePlace {
  readonly hostname: string;
  readonly deviceUuid: DeviceUuid;
  readonly resourceClass?: string;
}

export function handlePlaceOf({ hostname, deviceUuid, resourceClass }: Deployable): HandlePlace {
  return { hostname, deviceUuid, ...(resourceClass && { resourceClass }) };
}

export interface HandleClaim {
  readonly arqUuid: ArqUuid;
  readonly instanceUuid: InstanceUuid;
  /** For the history. */
  readonly facts?: ClaimFacts;
}

export interface ClaimFacts extends HandlePlace {
  readonly projectId: string;
  /** When it began; ISO 8601. */
  readonly at: string;
  readonly profileName: string;
}
