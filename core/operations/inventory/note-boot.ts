import type { AcceptedReport } from '#core/contracts/report/inventory-report.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { type BootReport, replacedBoots } from '#core/domain/host/identity.ts';
import { countsAfter, keepSummary } from '#core/operations/hosts/keep-summary.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import { timeNow } from '../time-now.ts';
import { type LeaseDeps, leaseTaken } from './report-effects.ts';

/**
 * Stores the boot before anything follows from it: jobs from now on are for this boot, and the
 * host is reprovisioned even if this consumer dies.
 *
 * @throws RetryLater where another consumer has taken the lease
 */
export async function noteBoot(
  deps: LeaseDeps,
  inventory: HostInventory,
  report: AcceptedReport,
  receivedAtMs: number,
): Promise<HostInventory> {
  const { host: stored, devices } = inventory;
  const counts = countsAfter(deps, inventory);
  // Each boot is a change of the summary, also one whose consumer has died.
  const summary = stored.bootId ? await keepSummary(deps, inventory, counts) : inventory.summary;
  const host: StoredHost = {
    ...stored,
    bootId: report.boot_id,
    epoch: stored.epoch + 1,
    // One less, so that this report is still newer when it is delivered again.
    sequence: report.sequence - 1,
    lastReceivedAtMs: receivedAtMs,
    lastReportAt: new Date(receivedAtMs).toISOString(),
    bootedAt: timeNow(deps),
    earlierBoots: replacedBoots(stored, toBootReport(report, receivedAtMs)),
    // A host that is new has made nothing that its boot could have ended.
    isReprovisioning: stored.bootId !== undefined || devices.length > 0,
    // Devices that a report of an earlier boot named may be gone.
    wanted: {},
  };
  if (!(await deps.store.inventory.putBoot(host, deps.holder))) throw leaseTaken(stored.hostname);
  const kept = await keepSummary(deps, present({ host, summary }), counts);
  return { ...inventory, ...present({ host, summary: kept }) };
}

export function toBootReport(report: AcceptedReport, receivedAtMs: number): BootReport {
  return { bootId: report.boot_id, sequence: report.sequence, receivedAtMs };
}
