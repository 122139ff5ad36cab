import { isDeepStrictEqual } from 'node:util';
import type { AcceptedReport } from '#core/contracts/report/inventory-report.ts';
import type { Deps } from '#core/deps.ts';
import { allNotOffered } from '#core/domain/arq/attach-types.ts';
import type { NotOffered } from '#core/domain/host/host.ts';
import {
  type DeviceCounts,
  type HostSummary,
  staleParts,
  withPart,
} from '#core/domain/host/host-summary.ts';
import { attachTypesOf } from '#core/domain/report/device-plan.ts';
import type { ReportPlan } from '#core/domain/report/report-plan.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import { timeNow } from '../time-now.ts';

/**
 * Makes the host's summary what the host's row says, where they differ. The next report repeats a
 * write that was lost with its consumer. Where a later writer came first, its summary stays.
 *
 * @param counts after a report was applied
 * @returns the summary as it is stored then
 */
export async function keepSummary(
  deps: Deps,
  { host, summary }: Pick<HostInventory, 'host' | 'summary'>,
  counts?: DeviceCounts,
): Promise<HostSummary | undefined> {
  const now = timeNow(deps);
  let kept = summary;
  for (const part of staleParts(host, summary, counts)) {
    if (!(await deps.store.inventory.putSummaryPart(host.hostname, part, now))) continue;
    kept = withPart(host.hostname, kept, part, now);
  }
  return kept;
}

/** The numbers of devices once the plan is applied. */
export function countsAfter(
  { settings }: Pick<Deps, 'settings'>,
  { host, devices, notOffered }: Pick<HostInventory, 'host' | 'devices' | 'notOffered'>,
  { put, retire }: Pick<ReportPlan, 'put' | 'retire'> = { put: [], retire: [] },
  reported: readonly NotOffered[] = notOffered,
): DeviceCounts {
  const changed = new Set([...put, ...retire].map(({ address }) => address));
  const left = devices.filter(({ isGone, address }) => !isGone && !changed.has(address));
  const added = put.map((each) => ({ ...each, isGone: false, attachTypes: attachTypesOf(each) }));
  const after = { host, devices: [...left, ...added], notOffered: reported };
  return {
    devices: after.devices.length,
    notOffered: allNotOffered(after, settings.attachTypes).length,
  };
}

/** Whether the report names other devices as not offered than the one before. */
export function changesNotOffered({ notOffered }: HostInventory, report: AcceptedReport): boolean {
  const reported = report.not_offered;
  return reported !== undefined && !isDeepStrictEqual(reported, notOffered);
}
