import type { Deps } from '#core/deps.ts';
import { HostNotFound } from '#core/domain/operator-errors.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';

/** The host with its devices. @throws HostNotFound */
export async function findHost(deps: Deps, hostname: string): Promise<HostInventory> {
  const inventory = await deps.store.inventory.host(hostname);
  const { host } = inventory;
  // Without these, devices of a host that was forgotten are about to be deleted; and a summary
  // that a late consumer has written is in no list.
  if (host.bootId === undefined && !host.presence) throw new HostNotFound(hostname);
  return inventory;
}
