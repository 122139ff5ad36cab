// Several stacks may share a Placement. The uuid of a provider follows from its host and device,
// so two stacks that both know the host mean the same provider: the trait says whose it is.

import { traitPart } from './traits.ts';

const prefix = 'CUSTOM_CYBORG_STACK_';

/** The mark of the stack on its providers in Placement. */
export function stackTrait(stage: string): string {
  return `${prefix}${traitPart(stage)}`;
}

export function isStackTrait(trait: string): boolean {
  return trait.startsWith(prefix);
}

/**
 * The mark of another stack, whose provider must not be touched. Undefined for a provider of this
 * stack, and for one without a mark: of Cyborg, or just created.
 */
export function otherStackMark(stage: string, traits: readonly string[]): string | undefined {
  return traits.find((trait) => isStackTrait(trait) && trait !== stackTrait(stage));
}
