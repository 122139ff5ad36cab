import {
  type AcceptedReport,
  clockAfter,
  novaVersionsAfter,
} from '#core/contracts/report/inventory-report.ts';
import type { Deps } from '#core/deps.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { afterOne } from '#core/domain/host/pace.ts';
import type { ReportPlan } from '#core/domain/report/report-plan.ts';
import { fromWire, omit } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import { hostFacts } from '#core/shapes/host.ts';
import { type Deployment, typesAfter } from './copy-attach-types.ts';

/** The host's row after the report has been applied. */
export function hostAfter(
  deps: Pick<Deps, 'clock'> & Deployment,
  host: StoredHost,
  plan: ReportPlan,
  report: AcceptedReport,
  receivedAtMs: number,
): StoredHost {
  const isNewer = plan.standing === 'newer';
  const failed = report.failed_drivers.length > 0 ? report.failed_drivers : undefined;
  return present({
    ...(isNewer ? omit(hostFacts, host) : host),
    ...(isNewer && {
      ...fromWire(hostFacts, report),
      novaVersions: novaVersionsAfter(report, host),
      attachTypes: typesAfter(deps, report, host),
      clock: clockAfter(report, host),
      // A hello names all drivers, because none has answered yet.
      failedDrivers: report.is_hello ? host.failedDrivers : failed,
      sequence: report.sequence,
      // The time of receipt: a report that waited in the queue says nothing of the time since.
      lastReportAt: new Date(receivedAtMs).toISOString(),
      lastReceivedAtMs: receivedAtMs,
    }),
    wanted: plan.wanted,
    refused: plan.refused,
    pace: afterOne(host.pace, deps.clock()),
    // Until a report describes a device, what it holds after the boot is not known.
    isReprovisioning:
      host.isReprovisioning && (Object.keys(plan.wanted).length > 0 || report.is_hello === true),
  });
}
