// What Nova's scheduler writes to Placement: which server holds units of a provider.

import type { World } from './world.ts';

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
