// What a device is called, by its ids.

import type { PciFunction } from '#agent/sysfs/pci.ts';
import { modelNames } from './model-names.ts';

/** Models that pci.ids lacks. */
const more: Readonly<Record<string, string>> = {
  // AMD, MxGPU-Virtualization, amdgv_marketing_name.c
  '1002:7460': 'AMD Radeon Pro V710',
  '1002:74a8': 'AMD Instinct MI308X',
  // Linux, include/drm/intel/pciids.h (CRI)
  '8086:674c': 'Intel Crescent Island',
};

const byVendor = new Map<string, ReadonlyMap<string, string>>();

/** Undefined for a model that no table has: its product id says what it is. */
export function modelName(fn: Pick<PciFunction, 'vendorId' | 'productId'>): string | undefined {
  const { vendorId, productId } = fn;
  const names = byVendor.get(vendorId) ?? readNames(vendorId);
  byVendor.set(vendorId, names);
  return names.get(productId) ?? more[`${vendorId}:${productId}`];
}

function readNames(vendorId: string): ReadonlyMap<string, string> {
  const text = Object.hasOwn(modelNames, vendorId) ? modelNames[vendorId] : undefined;
  const [shown, ...lines] = text?.split('\n') ?? [];
  return new Map(lines.map((line) => [line.slice(0, 4), `${shown} ${line.slice(5)}`]));
}
