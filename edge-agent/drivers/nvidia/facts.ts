// What NVIDIA's driver and the kernel show of a card.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';

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
export function parseFramebuffer(
  name: string,
  description: string | undefined,
): number | undefined {
  const [, described] = /\bframebuffer=(\d{1,7})M\b/.exec(description ?? '') ?? [];
  if (described) return Number(described);
  const [, named] = /-(\d{1,3})[A-Z]+$/.exec(name.trim().split(/\s+/).at(-1) ?? '') ?? [];
  if (named === undefined) return undefined;
  return named === '0' ? 512 : Number(named) * 1024;
}
