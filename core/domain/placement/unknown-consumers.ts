// Finds consumers that hold an allocation of a provider without a stored claim: after a restore,
// instances that were bound after the backup.

import type { AttachHandle } from '#core/domain/device/device.ts';

/**
 * Consumers to which Placement has allocated more of a provider than they have claimed of its
 * handles.
 *
 * @param allocated consumer → resource class → amount, of this provider alone
 */
export function findUnknownConsumers(
  allocated: Readonly<Record<string, Readonly<Record<string, number>>>>,
  handles: readonly AttachHandle[],
): string[] {
  const claims = new Map<string, number>();
  for (const { claim } of handles) {
    if (claim) claims.set(claim.instanceUuid, (claims.get(claim.instanceUuid) ?? 0) + 1);
  }
  return Object.entries(allocated)
    .filter(([consumer, resources]) => sum(resources) > (claims.get(consumer) ?? 0))
    .map(([consumer]) => consumer);
}

function sum(resources: Readonly<Record<string, number>>): number {
  return Object.values(resources).reduce((sum, amount) => sum + amount, 0);
}
