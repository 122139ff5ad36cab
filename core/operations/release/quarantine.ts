// Handles whose host could not clean up are kept from being claimed until it has: it is asked again, by the
// sweep (retry-cleaning.ts), sooner when it seems well.

import type { ConsumerDeps } from '../../consumer-deps.ts';
import type { InventoryReport } from '../../contracts/inventory-report.ts';
import type { Deps } from '../../deps.ts';
import type { HostRelease } from '../../domain/arq.ts';
import { cleaningRetryMs } from '../../domain/deadlines.ts';
import type { Device } from '../../domain/device.ts';
import type { HostInventory } from '../../store/hosts.ts';

/** A report says nothing of a failure that is as young as this. */
const settledMs = 60_000;

/** Keeps handles from being claimed, and says when their host is asked again to clean up. */
export async function quarantine(deps: Deps, release: HostRelease, reason: string): Promise<void> {
  const retryAt = timeIn(deps, cleaningRetryMs(release.retries ?? 0));
  await deps.store.releases.quarantine(release, reason, retryAt);
}

/** The host has done a job: it is not paused any longer, and what it left in quarantine is due now. */
export async function noteSuccess(deps: Deps, { host, devices }: HostInventory): Promise<void> {
  if (host.failedJobs) await deps.store.inventory.forgetFailures(host.hostname);
  await bringForward(deps, devices, Number.POSITIVE_INFINITY);
}

/** One job as a probe, when a report shows that all drivers can look; noteSuccess() does the rest. */
export async function retryAfterReport(
  deps: ConsumerDeps,
  { host, devices }: Pick<HostInventory, 'host' | 'devices'>,
  report: InventoryReport,
): Promise<void> {
  if (!host.failedJobs || report.failed_drivers.length > 0) return;
  if (deps.clock() - Date.parse(host.failedJobs.lastAt) < settledMs) return;
  await bringForward(deps, devices, 1);
}

/** What the host left in quarantine is due now. */
async function bringForward(deps: Deps, devices: readonly Device[], most: number): Promise<void> {
  const now = new Date(deps.clock()).toISOString();
  const seen = new Set<string>();
  for (const uuid of devices.flatMap(({ providers }) => providers)) {
    const handles = (await deps.store.inventory.provider(uuid))?.handles ?? [];
    for (const { quarantine: reason, release: id } of handles) {
      if (reason === undefined || id === undefined || seen.has(id)) continue;
      seen.add(id);
      const release = await deps.store.releases.byId(id);
      if (release?.retryAt) await deps.store.releases.postpone(release, now);
      if (seen.size >= most) return;
    }
  }
}

export function timeIn(deps: Deps, milliseconds: number): string {
  return new Date(deps.clock() + milliseconds).toISOString();
}
