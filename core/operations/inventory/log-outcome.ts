import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { AcceptedReport } from '#core/contracts/report/inventory-report.ts';
import { excessOf, type ReportPlan } from '#core/domain/report/report-plan.ts';

/** Logs what a report that was applied has changed, and what of it could not be applied. */
export function logOutcome(
  deps: ConsumerDeps,
  hostname: string,
  report: AcceptedReport,
  plan: ReportPlan,
): void {
  const { put, retire, wanted } = plan;
  const fields = { host: hostname, sequence: report.sequence };
  if (excessOf(report, deps.settings) !== undefined) {
    deps.log.error('Devices not stored: the host has too many', fields);
  }
  if (put.length > 0 || retire.length > 0) {
    deps.log.info('Inventory changed', {
      ...fields,
      put: put.map((device) => device.address),
      retired: retire.map((device) => device.address),
    });
  }
  const refused = { ...report.refused, ...refusedByPlan(report, plan) };
  const count = Object.keys(refused).length;
  if (count > 0) {
    deps.metrics.put([{ name: 'DevicesRefused', value: count }]);
    deps.log.error('Devices refused', { ...fields, refused });
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

/** Valid devices of the report that their host may not have beside its others. */
function refusedByPlan({ devices }: AcceptedReport, { refused }: ReportPlan) {
  const reasons = devices.flatMap(({ address }) => {
    const reason = refused[address]?.reason;
    return reason === undefined ? [] : [[address, reason] as const];
  });
  return Object.fromEntries(reasons);
}
