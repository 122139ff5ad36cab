// What Nova's scheduler writes to Placement: which server holds one unit of a provider.

import type { World } from './world.ts';

/**
 * Gives the server one FPGA of the provider; without a provider, takes what it has.
 *
 * @returns Placement's status
 */
export async function allocate(
  { urls }: World,
  instance: string,
  provider: string | undefined,
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
        allocations: { [provider]: { resources: { FPGA: 1 } } },
        project_id: 'demo',
        user_id: 'demo',
        consumer_generation: null,
      }),
    }),
  });
  return status;
}
