import type { Deps } from '#core/deps.ts';
import { HostNotFound } from '#core/domain/operator-errors.ts';
import type { HostInventory } from '#core/store/hosts.ts';
import { action } from '../http/action.ts';
import { noQuery } from '../http/query.ts';
import { hostDetailAnswer } from './answer.ts';
import { viewHostDetail } from './view.ts';

export const getHost = action(
  { query: noQuery, answers: { 200: hostDetailAnswer }, refuses: [404] },
  async ({ deps, id }) => ({ body: await hostDetail(deps, id) }),
);

async function hostDetail(deps: Deps, hostname: string) {
  const inventory = await knownHost(deps, hostname);
  const uuids = inventory.devices.flatMap(({ providers }) => providers);
  const providers = await deps.store.inventory.providers(uuids);
  return viewHostDetail(inventory, providers, deps.clock());
}

/** @throws HostNotFound */
export async function knownHost(deps: Deps, hostname: string): Promise<HostInventory> {
  const inventory = await deps.store.inventory.host(hostname);
  const { host, devices, summary } = inventory;
  const isKnown = summary ?? host.bootId ?? host.presence;
  if (!isKnown && devices.length === 0) throw new HostNotFound(hostname);
  return inventory;
}
