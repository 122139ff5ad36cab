// What Placement holds of a provider: which server has units of it, as Nova's scheduler writes,
// and whether it is offered at all.

import type { ProviderUuid } from '#core/domain/ids.ts';
import type { World } from '#test/support/world.ts';

/**
 * Gives the server FPGAs of the provider; without a provider, takes what it has.
 *
 * @returns Placement's status
 */
export async function allocate(
  { urls }: World,
  instance: string,
  provider: string | undefined,
  amount = 1,
): Promise<number> {
  const { status } = await fetch(`${urls.placement}/allocations/${instance}`, {
    method: provider ? 'PUT' : 'DELETE',
    headers: {
      'X-Auth-Token': 'admin-token',
      'OpenStack-API-Version': 'placement 1.36',
      'Content-Type': 'application/json',
    },
    ...(provider && {
      body: JSON.stringify({
        allocations: { [provider]: { resources: { FPGA: amount } } },
        project_id: 'demo',
        user_id: 'demo',
        consumer_generation: null,
      }),
    }),
  });
  return status;
}

/** Whether the provider is gone, or has left its tree with nothing to offer. */
export async function hasLeft({ deps }: World, provider: ProviderUuid): Promise<boolean> {
  const { placement } = deps.clients;
  const held = await placement.getProvider(provider);
  const inventories = (await placement.getInventories(provider))?.inventories ?? {};
  return held?.parentUuid === undefined && Object.keys(inventories).length === 0;
}
