// The claim of an ARQ on an attach handle, with what the history says of it.

import { type claimFacts, handlePlace, type storedClaim } from '#core/shapes/attach-handle.ts';
import { pick, type Shaped } from '#core/shapes/derive/case.ts';
import type { Deployable } from './device.ts';

export type HandlePlace = Shaped<typeof handlePlace>;
export type ClaimFacts = Shaped<typeof claimFacts>;

export function toHandlePlace(deployable: Deployable): HandlePlace {
  return pick(handlePlace, deployable);
}

export interface HandleClaim extends Omit<Shaped<typeof storedClaim>, 'claimFacts'> {
  readonly facts?: ClaimFacts;
}
