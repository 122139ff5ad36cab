// A compute node's tree of resource providers in Placement.

import { providerUuid } from '#core/domain/ids.ts';
import type { Stage } from './stage.ts';

export interface ProviderRow {
  readonly uuid: string;
  readonly name: string;
  readonly generation: number;
}

/** The providers of the node's tree; none before nova-compute has started on it. */
export async function providersOf(
  { admin, cloud }: Stage,
  host = cloud.plan.computeHost,
): Promise<readonly ProviderRow[]> {
  const named = `/resource_providers?name=${host}`;
  const [node] = (await admin.placement.ask('GET', named)).body.resource_providers;
  if (!node) return [];
  const tree = `/resource_providers?in_tree=${node.uuid}`;
  return (await admin.placement.ask('GET', tree)).body.resource_providers;
}

/** The names of the tree's providers, the compute node's own first. */
export async function providerNames(stage: Stage): Promise<readonly string[]> {
  return (await providersOf(stage)).map(({ name }) => name).sort((a, b) => a.length - b.length);
}

/** The path of one of our providers, by the part of its name after the host. */
export function ownProvider({ cloud }: Stage, suffix: string): string {
  return `/resource_providers/${providerUuid(`${cloud.plan.computeHost}_${suffix}`)}`;
}
