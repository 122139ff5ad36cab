// A minimal model of how the control plane applies a host's reports: the newest manifest lists the
// devices, and any report may describe one of them, identified by its digest.

import { computeDigest } from '#core/contracts/report/device-digest.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';

export interface ModelReport {
  readonly sequence: number;
  readonly manifest: Readonly<Record<string, string>>;
  readonly devices: readonly ReportedDevice[];
}

export interface ControlPlaneModel {
  apply(report: ModelReport): void;
  /** Described devices of the newest manifest, in the order of their addresses. */
  devices(): ReportedDevice[];
  /** Addresses of devices of the newest manifest that no report has described. */
  wanted(): string[];
}

export function aControlPlane(): ControlPlaneModel {
  let newest: Pick<ModelReport, 'sequence' | 'manifest'> = { sequence: -1, manifest: {} };
  const described = new Map<string, ReportedDevice>();
  const keyOf = (address: string, digest: string) => `${address} ${digest}`;
  const keys = () => Object.entries(newest.manifest).map(([at, digest]) => keyOf(at, digest));
  return {
    apply: (report) => {
      for (const device of report.devices) {
        described.set(keyOf(device.address, computeDigest(device)), device);
      }
      if (report.sequence > newest.sequence) newest = report;
    },
    devices: () =>
      keys()
        .flatMap((key) => described.get(key) ?? [])
        .sort((a, b) => (a.address < b.address ? -1 : 1)),
    wanted: () => keys().filter((key) => !described.has(key)),
  };
}
