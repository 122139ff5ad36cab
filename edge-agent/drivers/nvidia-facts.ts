// What NVIDIA's driver and the kernel tell of a card.

import type { PciFunction } from '#agent/sysfs/pci.ts';
import type { ReportedDevice } from '#core/contracts/inventory-report.ts';
import type { DriverContext } from './define-driver.ts';

export interface CardFacts {
  readonly model?: string;
  /** The uuid that nvidia-smi shows. */
  readonly uuid?: string;
  readonly firmware?: string;
  /** An operator has taken the card from the driver (`NVreg_ExcludedGpus`). */
  readonly isExcluded: boolean;
}

/**
 * Lines of `Name: value` in /proc/driver/nvidia/gpus/<address>/information. A card on another
 * driver, such as vfio-pci, has none. What the driver does not know yet it writes as `?`.
 */
export async function readCardFacts(
  { hardware }: DriverContext,
  { address }: PciFunction,
): Promise<CardFacts> {
  const path = `driver/nvidia/gpus/${address}/information`;
  const text = await hardware.readProc(address, path).catch(() => '');
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, name, value] = /^([A-Za-z ]{1,32}):\s+(\S.{0,127}?)\s*$/.exec(line) ?? [];
    if (name && value && !value.includes('?')) fields.set(name, value);
  }
  const [model, uuid] = [fields.get('Model'), fields.get('GPU UUID')];
  const firmware = fields.get('Video BIOS')?.slice(0, 64);
  return {
    ...(model && { model }),
    ...(uuid && /^GPU-[0-9a-f-]{36}$/.test(uuid) && { uuid }),
    ...(firmware && { firmware }),
    isExcluded: fields.get('GPU Excluded') === 'Yes',
  };
}

/**
 * By the kernel's counters of PCIe errors since the boot (sysfs-bus-pci-devices-aer_stats). A
 * fatal error has reset the link under the card.
 *
 * @param since when the driver began to look, as the counters have no times
 */
export function aerHealth(
  { sysfs }: DriverContext,
  { path }: PciFunction,
  since: string,
): ReportedDevice['health'] {
  const total = (name: string, kind: string) => {
    const text = readUnlessAbsent(() => sysfs.readAttribute(`${path}/${name}`)) ?? '';
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

function readUnlessAbsent<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** `NVIDIA A40-2Q` → `A40_2Q`, as Cyborg's driver makes a trait of it. */
export function typeTraitPart(name: string): string | undefined {
  const word = name.trim().split(/\s+/).at(-1) ?? '';
  const part = word.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_');
  return /^[A-Z0-9_]{1,64}$/.test(part) ? part : undefined;
}

/**
 * In MiB. From the description of an mdev type; else from the name, whose last number is the
 * frame buffer in GiB (`A40-2Q`, `H100-1-10C`), with 0 for 512 MiB.
 */
export function framebufferOf(name: string, description: string | undefined): number | undefined {
  const [, described] = /\bframebuffer=(\d{1,7})M\b/.exec(description ?? '') ?? [];
  if (described) return Number(described);
  const [, named] = /-(\d{1,3})[A-Z]+$/.exec(name.trim().split(/\s+/).at(-1) ?? '') ?? [];
  if (named === undefined) return undefined;
  return named === '0' ? 512 : Number(named) * 1024;
}
