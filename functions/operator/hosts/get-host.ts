import { hostDetailAnswer } from '#core/contracts/api/operator/hosts.ts';
import type { Deps } from '#core/deps.ts';
import { findHost } from '#core/operations/hosts/find-host.ts';
import { action } from '#functions/http/action.ts';
import { viewHostDetail } from '#functions/operator/view.ts';

export const getHost = action(
  { answers: { 200: hostDetailAnswer }, refuses: [404] },
  async ({ deps, id }) => ({ body: await hostDetail(deps, id) }),
);

async function hostDetail(deps: Deps, hostname: string) {
  const inventory = await findHost(deps, hostname);
  const uuids = inventory.devices.flatMap(({ providers }) => providers);
  const providers = await deps.store.inventory.providers(uuids);
  return viewHostDetail(inventory, providers, deps.settings.attachTypes, deps.clock());
}
