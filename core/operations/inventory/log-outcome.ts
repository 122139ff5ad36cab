import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { AcceptedReport } from '#core/contracts/report/inventory-report.ts';
import type { ReportPlan } from '#core/domain/report/report-plan.ts';
import { exceedsBounds } from './plan-report.ts';

/** Logs what a report that was applied has changed, and what of it could not be applied. */
export function logOutcome(
  deps: ConsumerDeps,
  hostname: string,
  report: AcceptedReport,
  plan: ReportPlan,
): void {
  const { put, retire, wanted } = plan;
  const fields = { host: hostname, sequence: report.sequence };
  if (exceedsBounds(deps, report, plan)) {
    deps.log.error('Devices not stored: the host has too many', fields);
  }
  if (put.length > 0 || retire.length > 0) {
    deps.log.info('Inventory changed', {
      ...fields,
      put: put.map((device) => device.address),
      retired: retire.map((device) => device.address),
    });
  }
  const refused = Object.keys(report.refused ?? {});
  if (refused.length > 0) {
    deps.metrics.put([{ name: 'DevicesRefused', value: refused.length }]);
    deps.log.error('Devices refused', { ...fields, refused: report.refused });
  }
  if (report.failed_drivers.length > 0 && !report.is_hello) {
    deps.log.warn('Drivers failed', { ...fields, drivers: report.failed_drivers });
  }
  if (Object.keys(wanted).length > 0) {
    deps.log.warn('Devices not described yet', {
      ...fields,
      addresses: Object.keys(wanted),
    });
  }
}
