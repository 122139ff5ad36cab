import type { Client } from './demo-client.ts';
import { demoHostname } from './demo-host.ts';

/** Inventory and usage of one provider of the demo host. */
export async function inventoryOf(placement: Client, provider: string, resourceClass: string) {
  const providers = await placement.get<{ resource_providers: { uuid: string }[] }>(
    `/resource_providers?name=${demoHostname}_${provider}`,
    'admin-token',
  );
  const uuid = providers.resource_providers[0]?.uuid;
  if (!uuid) return undefined;
  const at = `/resource_providers/${uuid}`;
  const { inventories } = await placement.get<{
    inventories: Record<string, { total: number } | undefined>;
  }>(`${at}/inventories`, 'admin-token');
  const { usages } = await placement.get<{ usages: Record<string, number | undefined> }>(
    `${at}/usages`,
    'admin-token',
  );
  return { total: inventories[resourceClass]?.total, used: usages[resourceClass] ?? 0 };
}
