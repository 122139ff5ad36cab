import { type AcceptedReport, clockAfter } from '#core/contracts/report/inventory-report.ts';
import type { Deps } from '#core/deps.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { afterOne } from '#core/domain/host/pace.ts';
import type { ReportPlan } from '#core/domain/report/report-plan.ts';
import { typesOf } from './copy-attach-types.ts';

/** The host's row after the report has been applied. */
export function hostAfter(
  deps: Deps,
  host: StoredHost,
  plan: ReportPlan,
  report: AcceptedReport,
  receivedAtMs: number,
): StoredHost {
  const { attachTypes: before, failedDrivers: failedBefore, clock: known, ...others } = host;
  const isNewer = plan.standing === 'newer';
  const attachTypes = isNewer ? typesOf(report) : before;
  const clock = isNewer ? clockAfter(report, host) : known;
  // A hello names all drivers, because none has answered yet.
  const failedDrivers = isNewer && !report.is_hello ? report.failed_drivers : failedBefore;
  return {
    ...others,
    ...(attachTypes && { attachTypes }),
    ...(clock && { clock }),
    ...(failedDrivers && failedDrivers.length > 0 && { failedDrivers }),
    ...(isNewer && {
      sequence: report.sequence,
      agentVersion: report.agent_version,
      // The time of receipt: a report that waited in the queue says nothing of the time since.
      lastReportAt: new Date(receivedAtMs).toISOString(),
      lastReceivedAtMs: receivedAtMs,
    }),
    ...{ wanted: plan.wanted, refused: plan.refused },
    pace: afterOne(host.pace, deps.clock()),
    // Until a report describes a device, what it holds after the boot is not known.
    isReprovisioning:
      host.isReprovisioning && (Object.keys(plan.wanted).length > 0 || report.is_hello === true),
  };
}
