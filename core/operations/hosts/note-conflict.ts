import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { Device } from '#core/domain/device/device.ts';
import { type BootReport, openConflict, withSighting } from '#core/domain/host/identity.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import { timeNow } from '../time-now.ts';
import { keepSummary } from './keep-summary.ts';

/**
 * Marks a host as in conflict, because two agents report as it: no report is applied, its binds
 * are `unknown`, and none of its devices is offered, until an operator names the host's own agent.
 * Runs under the lease of the host's reports.
 *
 * @returns false if the lease is not the holder's
 */
export async function beginConflict(
  deps: ConsumerDeps & { readonly holder: string },
  inventory: HostInventory,
  report: BootReport,
): Promise<boolean> {
  const { host, devices } = inventory;
  const conflict = openConflict(host, report, timeNow(deps));
  if (!(await deps.store.inventory.putConflict(host, conflict, deps.holder))) return false;
  deps.metrics.put([{ name: 'ReportsInConflict', value: 1 }]);
  deps.log.error('Identity conflict: two agents report as one host', {
    host: host.hostname,
    boots: conflict.boots.map(({ bootId }) => bootId),
  });
  await markConflict(deps, devices, conflict.since);
  // Last: until the devices are marked, binds may claim them.
  await keepSummary(deps, { ...inventory, host: { ...host, conflict } });
  return true;
}

/**
 * Stores that one of the agents has reported again, and finishes an earlier attempt that died.
 */
export async function noteSighting(
  deps: ConsumerDeps,
  inventory: HostInventory,
  report: BootReport,
): Promise<void> {
  const { host, devices } = inventory;
  const { hostname, conflict } = host;
  if (!conflict) return;
  deps.metrics.put([{ name: 'ReportsInConflict', value: 1 }]);
  deps.log.warn('Report not applied: host in conflict', {
    host: hostname,
    boot: report.bootId,
  });
  const seen = withSighting(conflict, report);
  if (seen) await deps.store.inventory.putSighting(hostname, seen);
  await markConflict(deps, devices, conflict.since);
  await keepSummary(deps, inventory);
}

/** After a conflict: removes its marks from the devices. Repeatable. */
export async function takeBack(deps: ConsumerDeps, devices: readonly Device[]): Promise<void> {
  await markConflict(deps, devices, undefined);
}

/** @throws RetryLater if rows of a device have been deleted meanwhile */
async function markConflict(
  { store: { inventory } }: ConsumerDeps,
  devices: readonly Device[],
  since: string | undefined,
): Promise<void> {
  for (const device of devices.filter(({ conflictSince }) => conflictSince !== since)) {
    const providers = await inventory.providers(device.providers);
    const deployables = providers.map(({ deployable }) => deployable);
    if (await inventory.markConflict(device, deployables, since)) continue;
    throw new RetryLater(`The device at ${device.address} of ${device.hostname} is changing.`, 1);
  }
}
