// Builders for reports of hosts: a test names only what matters to it.

import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { computeDigest } from '#core/contracts/report/device-digest.ts';
import {
  discoveredDevice,
  type InventoryReport,
  type ReportedDevice,
} from '#core/contracts/report/inventory-report.ts';
import type { DiscoveredDevice } from '#core/domain/device/device.ts';
import { settlingMs } from '#core/domain/host/identity.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { hostKey } from '#core/store/rows/rows.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { tableName } from '#core/store/table/tables.ts';

export function aHandle(index: number, type: 'PCI' | 'TEST_PCI' | 'MDEV' = 'TEST_PCI') {
  return {
    type,
    info: { domain: '0000', bus: '0c', device: `${index >> 3}`, function: `${index & 7}` },
  };
}

/** What a driver says of a handle that it makes at each bind. */
export const madeAtBind = { prepare: 'at-bind', clean_seconds: 300 } as const;

/** The device of the fake driver: class FPGA, `handles` accelerators. */
export function aDevice(
  given: Partial<ReportedDevice> & { handles?: number } = {},
): ReportedDevice {
  const { handles = 2, ...rest } = given;
  return {
    address: '0000:0c:00.0',
    driver: 'fake_driver',
    type: 'FPGA',
    vendor: '0xABCD',
    product: '0xabcd',
    model: 'miss model info',
    provider_suffix: 'FakeDevice',
    offers: {
      resource_class: 'FPGA',
      traits: ['CUSTOM_FAKE_DEVICE'],
      attach_handles: Array.from({ length: handles }, (_, index) => aHandle(index + 1)),
    },
    regions: [],
    ...rest,
  };
}

/** A GPU with an mdev of each `info`, made at its bind. */
export function aGpu(
  infos: readonly Readonly<Record<string, string>>[],
  given: Partial<ReportedDevice> = {},
): ReportedDevice {
  return aDevice({
    address: '0000:0e:00.0',
    type: 'GPU',
    provider_suffix: 'Gpu',
    offers: {
      resource_class: 'VGPU',
      traits: [],
      attach_handles: infos.map((info) => ({ type: 'MDEV', info, ...madeAtBind })),
    },
    ...given,
  });
}

export function discovered(device: ReportedDevice): DiscoveredDevice {
  return discoveredDevice(device, aReport([device]));
}

export const bootId = '11111111-1111-4111-8111-111111111111';

/**
 * Applies a report as its queue delivers it, and again after the settling of a new boot, which is
 * set into the past.
 */
export async function applySettled(
  deps: ConsumerDeps,
  ...[hostname, report, receivedAtMs]: [string, InventoryReport, number]
): Promise<void> {
  try {
    await applyReport(deps, hostname, report, receivedAtMs);
  } catch (error) {
    if (!(error instanceof RetryLater)) throw error;
    const later = { ...deps, clock: () => deps.clock() + settlingMs };
    await applyReport(later, hostname, report, receivedAtMs).finally(() =>
      hasSettled(deps, hostname),
    );
  }
}

/** Sets the host's last boot into the past. */
export async function hasSettled(
  { settings, clock }: Pick<ConsumerDeps, 'settings' | 'clock'>,
  hostname: string,
): Promise<void> {
  await createDocuments().documents.send(
    new UpdateCommand({
      TableName: tableName(settings.stage, 'inventory'),
      Key: hostKey(hostname),
      UpdateExpression: 'SET booted_at = :at',
      ExpressionAttributeValues: { ':at': new Date(clock() - settlingMs).toISOString() },
    }),
  );
}

export function aReport(
  devices: readonly ReportedDevice[],
  given: Partial<InventoryReport> = {},
): InventoryReport {
  return {
    version: 1,
    agent_version: 'test',
    boot_id: bootId,
    sequence: 1,
    manifest: Object.fromEntries(devices.map((device) => [device.address, computeDigest(device)])),
    failed_drivers: [],
    devices: [...devices],
    ...given,
  };
}
