// Which types of attach handles the hypervisor of a host takes. Nova's libvirt driver ignores a
// handle of another type, and starts the instance without any accelerator.

import type { AttachType } from '#core/domain/device/device.ts';
import { attachTypes } from '#core/shapes/words.ts';
import type { StoredProvider } from './bind-plan.ts';

/** The host's own, or those of the deployment where the host names none. */
export function typesTaken(
  { deployable: { hostAttachTypes } }: Pick<StoredProvider, 'deployable'>,
  deploymentTypes: readonly AttachType[],
): readonly AttachType[] {
  return hostAttachTypes ?? deploymentTypes;
}

/** Types of the provider's attach handles that the hypervisor of its host does not take. */
export function typesRefused(
  provider: StoredProvider,
  deploymentTypes: readonly AttachType[],
): AttachType[] {
  const taken = typesTaken(provider, deploymentTypes);
  const handleTypes = provider.handles.flatMap(({ type, isGone }) => (isGone ? [] : [type]));
  // A bind reads some of the handles only; the deployable has the types of all.
  const types = new Set([...(provider.deployable.attachTypes ?? []), ...handleTypes]);
  return [...types].filter((type) => !taken.includes(type));
}

/** The known ones of these names, in one order. */
export function knownAttachTypes(names: readonly string[]): AttachType[] {
  return attachTypes.filter((type) => names.includes(type));
}

/** Whether two hosts, or a host at two times, name the same types. */
export function isSameTypes(
  one: readonly AttachType[] | undefined,
  other: readonly AttachType[] | undefined,
): boolean {
  return one?.join() === other?.join();
}
