// What Nova's calls need of the inventory. What reports and operators write is inventory.ts, and
// not in the bundles of the functions on Nova's path.

import { type HostStore, hostStore } from '#core/store/hosts/hosts.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { type ProviderReads, providerReads } from './provider-reads.ts';

export interface InventoryReads extends HostStore, ProviderReads {}

export function inventoryReads(client: Documents, table: string): InventoryReads {
  return { ...hostStore(client, table), ...providerReads(client, table) };
}
