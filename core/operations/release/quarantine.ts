// Handles that a host could not clean up cannot be claimed until it has. The sweep asks the host
// again (retry-cleaning.ts), sooner once the host has done another job.

import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { InventoryReport } from '#core/contracts/report/inventory-report.ts';
import type { Deps } from '#core/deps.ts';
import type { Device } from '#core/domain/device/device.ts';
import { cleaningRetryMs, isStopped, mayComeSooner } from '#core/domain/host-work/deadlines.ts';
import type { AwaitedWork } from '#core/domain/host-work/host-work.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import { timeNow } from '../time-now.ts';

/** A report may be older than a failure that is as recent as this. */
const settledMs = 60_000;

/** Keeps handles from being claimed, and says when their host is asked again to clean up. */
export async function quarantine(deps: Deps, work: AwaitedWork, reason: string): Promise<void> {
  const retryAt = timeNow(deps, cleaningRetryMs(work, deps.clock()));
  await deps.store.releases.quarantine(work, makeChangeNote(deps), reason, retryAt);
}

/**
 * After a job that the host has done: ends its pause, and its handles in quarantine are due now.
 */
export async function noteSuccess(deps: Deps, { host, devices }: HostInventory): Promise<void> {
  if (host.failedJobs) await deps.store.inventory.forgetFailures(host.hostname);
  await bringForward(deps, devices, mayComeSooner);
}

/**
 * When a report shows that all drivers work: asks the host for one job. noteSuccess() does the
 * rest.
 */
export async function retryAfterReport(
  deps: ConsumerDeps,
  { host, devices }: Pick<HostInventory, 'host' | 'devices'>,
  report: InventoryReport,
): Promise<void> {
  if (!host.failedJobs || report.failed_drivers.length > 0) return;
  if (deps.clock() - Date.parse(host.failedJobs.lastAt) < settledMs) return;
  await bringForward(deps, devices, (work, nowMs) => !isStopped(work, nowMs), 1);
}

/**
 * Handles in quarantine are due now where their device is there again, which may be another one.
 */
export async function retryAfterReturn(deps: Deps, devices: readonly Device[]): Promise<void> {
  await bringForward(deps, devices, () => true);
}

/** Makes work in quarantine due now. */
async function bringForward(
  deps: Deps,
  devices: readonly Device[],
  isMeant: (work: AwaitedWork, nowMs: number) => boolean,
  most = Number.POSITIVE_INFINITY,
): Promise<void> {
  const now = timeNow(deps);
  const seen = new Set<string>();
  let count = 0;
  for (const uuid of devices.flatMap(({ providers }) => providers)) {
    const handles = (await deps.store.inventory.provider(uuid))?.handles ?? [];
    for (const { quarantine: reason, release: id } of handles) {
      if (reason === undefined || id === undefined || seen.has(id)) continue;
      seen.add(id);
      const work = await deps.store.releases.awaited(id);
      if (!work?.retryAt || !isMeant(work, deps.clock())) continue;
      await deps.store.releases.postpone(work, now);
      count += 1;
      if (count >= most) return;
    }
  }
}
