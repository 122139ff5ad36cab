// The plan of a report, within what a host may have.

import { type AcceptedReport, discoveredDevice } from '#core/contracts/report/inventory-report.ts';
import type { RequestDeps } from '#core/deps.ts';
import type { Device } from '#core/domain/device/device.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import {
  excessOf,
  type HostBounds,
  planReport,
  type ReportPlan,
  withinBounds,
  withoutDevices,
} from '#core/domain/report/report-plan.ts';

type SettingDeps = Pick<RequestDeps, 'settings'>;

export function planFor(
  { settings }: SettingDeps,
  host: StoredHost,
  devices: readonly Device[],
  report: AcceptedReport,
  receivedAtMs: number,
): ReportPlan {
  const manifest = {
    bootId: report.boot_id,
    sequence: report.sequence,
    receivedAtMs,
    manifest: report.manifest,
    failedDrivers: report.failed_drivers,
    refused: report.refused ?? {},
  };
  const described = report.devices.map((device) => discoveredDevice(device, report));
  const whole = planReport(host, devices, manifest, described);
  const isOver = excessOf(report, settings) !== undefined;
  return isOver ? withoutDevices(whole, host) : withinBounds(whole, devices, settings);
}

/** A host with too many devices gets none stored: its report says why, in place of its reasons. */
export function withExcess(
  report: AcceptedReport,
  hostname: string,
  bounds: HostBounds,
): AcceptedReport {
  const reason = excessOf(report, bounds);
  if (reason === undefined) return report;
  return { ...report, not_offered: [{ address: hostname.slice(0, 64), driver: 'all', reason }] };
}
