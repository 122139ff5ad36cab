import type { Deps } from '../../deps.ts';
import { HostNotFound } from '../../domain/operator-errors.ts';
import type { HostInventory } from '../../store/hosts.ts';

/** The host with its devices. @throws HostNotFound */
export async function findHost(deps: Deps, hostname: string): Promise<HostInventory> {
  const inventory = await deps.store.inventory.host(hostname);
  const { host, summary } = inventory;
  // Without these, devices of a host that was forgotten are about to be deleted.
  if (!summary && host.bootId === undefined && !host.presence) throw new HostNotFound(hostname);
  return inventory;
}
