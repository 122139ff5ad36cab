// Traits derived from a device, in the spellings of the agent-driver specification and of
// deployed Cyborg: existing profiles use either.

import {
  type DiscoveredDevice,
  type DiscoveredRegion,
  vendorId,
} from '#core/domain/device/device.ts';
import { ownerTrait } from '#core/shapes/vocabulary/placement-names.ts';

// Cyborg's names for PCI vendors (accelerator/drivers/pci/utils.py and drivers/ssd).
const vendorNames: Readonly<Record<string, string>> = {
  '10de': 'NVIDIA',
  '102b': 'MATROX',
  '8086': 'INTEL',
  '1bd4': 'INSPUR',
  '10ee': 'XILINX',
  '19e5': 'HUAWEI',
  '1099': 'SAMSUNG',
  '1cf2': 'ZTE',
};

/** The vendor as traits name it: `0x8086` → `INTEL`; a vendor without a name by its id. */
export function vendorName(vendor: string): string {
  const id = vendorId(vendor);
  return (Object.hasOwn(vendorNames, id) ? vendorNames[id] : undefined) ?? traitPart(id);
}

/** Text as part of a trait's name: upper case, all but letters and digits as underscores. */
export function traitPart(text: string): string {
  return text.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_');
}

/** Traits of a device and, where given, of one of its regions, sorted. */
export function deriveTraits(device: DiscoveredDevice, region?: DiscoveredRegion): string[] {
  const vendor = vendorName(device.vendor);
  const product = traitPart(device.product.replace(/^0x/, ''));
  const deviceTraits = [
    ownerTrait,
    `CUSTOM_${device.type}_${vendor}_${product}`,
    ...(device.offers?.traits ?? []),
    ...(isKnownNode(device.numaNode) ? [`CUSTOM_ACCEL_NUMA_${device.numaNode}`] : []),
  ];
  const regionTraits = region
    ? [
        ...region.traits,
        ...spellings(region.regionTypeUuid, (id, plain) => [
          `CUSTOM_${device.type}_${vendor}_REGION_${id}`,
          `CUSTOM_${device.type}_REGION_${vendor}_${plain}`,
        ]),
        ...(region.functionUuids ?? []).flatMap((uuid) =>
          spellings(uuid, (id, plain) => [
            `CUSTOM_${device.type}_${vendor}_FUNCTION_${id}`,
            `CUSTOM_${device.type}_FUNCTION_ID_${vendor}_${plain}`,
          ]),
        ),
      ]
    : [];
  return [...new Set([...deviceTraits, ...regionTraits])].sort();
}

/** Linux says -1 where it does not know. */
function isKnownNode(node: number | undefined): boolean {
  return node !== undefined && node >= 0;
}

/** The specification writes a uuid's hyphens as underscores, deployed Cyborg leaves them out. */
function spellings(
  uuid: string | undefined,
  names: (withUnderscores: string, plain: string) => string[],
): string[] {
  if (uuid === undefined) return [];
  const upper = uuid.toUpperCase();
  return names(upper.replaceAll('-', '_'), upper.replaceAll('-', ''));
}
