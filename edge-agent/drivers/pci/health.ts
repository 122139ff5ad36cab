// The health of a PCI device, from the kernel's PCIe error handling.

import { type PciFunction, readIfReadable } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';

/**
 * Reads the kernel's counters of PCIe errors since the boot (sysfs-bus-pci-devices-aer_stats). A
 * fatal error has reset the link under the card.
 *
 * @param since when the driver began to look, as the counters have no times
 */
export function aerHealth(
  sysfs: Sysfs,
  { path }: PciFunction,
  since: string,
): ReportedDevice['health'] {
  const total = (name: string, kind: string) => {
    const text = readIfReadable(sysfs, `${path}/${name}`) ?? '';
    const [, count = '0'] = new RegExp(`^TOTAL_ERR_${kind} (\\d{1,18})$`, 'm').exec(text) ?? [];
    return Number(count);
  };
  const fatal = total('aer_dev_fatal', 'FATAL');
  if (fatal > 0) {
    return {
      state: 'unhealthy',
      reason: `has had ${fatal} fatal PCIe errors since the boot`,
      since,
    };
  }
  const nonfatal = total('aer_dev_nonfatal', 'NONFATAL');
  if (nonfatal === 0) return undefined;
  const reason = `has had ${nonfatal} uncorrectable PCIe errors since the boot`;
  return { state: 'degraded', reason, since };
}
