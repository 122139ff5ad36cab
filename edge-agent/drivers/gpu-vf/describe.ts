// How a divided GPU is reported.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import { aerHealth } from '#agent/drivers/pci/health.ts';
import { type PciFunction, readIfReadable } from '#agent/sysfs/pci.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';
import { profileName } from './settings.ts';
import { type GpuCard, type SharesFound, valueName } from './shares.ts';

/** Vendors of GPUs that have virtual functions, as traits spell them. */
export const gpuVendors: Readonly<Record<string, string>> = { '8086': 'INTEL', '1002': 'AMD' };

const mebibyte = 1024 * 1024;

/**
 * @param drift what another program has changed, as a clause about the card
 * @throws if a file that shows a fault is there and cannot be read
 */
export async function readHealth(
  { sysfs, hardware }: DriverContext,
  fn: PciFunction,
  since: string,
  drift?: string,
): Promise<ReportedDevice['health']> {
  const { address, path } = fn;
  const names = sysfs.list(path) ?? [];
  // Linux Documentation/gpu/xe: the file exists while only a flash of the firmware can help.
  if (names.includes('survivability_mode')) {
    const reason = 'is in survivability mode: its firmware must be flashed';
    return { state: 'unhealthy', reason, since };
  }
  // Linux Documentation/ABI/testing/sysfs-driver-intel-xe-ras, since 7.3.
  // The card's own controller answers, so that the read may block.
  const gpuHealth = names.includes('gpu_health')
    ? await hardware.readText(address, `${path}/gpu_health`)
    : undefined;
  if (gpuHealth === 'critical')
    return { state: 'unhealthy', reason: 'has gpu_health critical', since };
  const counted = aerHealth(sysfs, fn, since);
  if (counted) return counted;
  if (gpuHealth === 'warning')
    return { state: 'degraded', reason: 'has gpu_health warning', since };
  return drift === undefined ? undefined : { state: 'degraded', reason: drift, since };
}

/** The device with the names of Nova's specification of vGPUs, and what is read of its shares. */
export function describedGpu(
  { sysfs }: DriverContext,
  device: ReportedDevice,
  { fn, settings }: GpuCard,
  { values, texts: found }: SharesFound,
  health: ReportedDevice['health'],
): ReportedDevice {
  const { vendorId, productId } = fn;
  const vendor = gpuVendors[vendorId];
  const profile = profileName(settings);
  const part = profile.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_');
  const ids = [vendorId, ...(vendor ? [vendor] : [])];
  const traits = ids.map((each) => `CUSTOM_${each}_${productId}_${part}`.toUpperCase());
  const shown = Object.fromEntries(
    values
      .filter(({ number = 1 }) => number === 1)
      .flatMap((value) => {
        const text = found.get(valueName(value));
        if (text === undefined) return [];
        const isSize = value.key.endsWith('_mib');
        return [[value.key, isSize ? String(Math.floor(Number(text) / mebibyte)) : text]];
      }),
  );
  const total = readIfReadable(sysfs, `${fn.path}/sriov_totalvfs`) ?? '';
  return {
    ...device,
    ...present({ health }),
    attributes: {
      ...shown,
      profile,
      ...(fn.boundDriver && { kernel_driver: fn.boundDriver.slice(0, 64) }),
      ...(/^\d{1,5}$/.test(total) && { total_virtual_functions: total }),
    },
    ...(device.offers && {
      offers: {
        ...device.offers,
        pool: profile,
        traits: [...new Set([...traits, ...device.offers.traits])],
      },
    }),
  };
}
