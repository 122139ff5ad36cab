// How a card of driver `nvidia_gpu` is reported.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import { modelName } from '#agent/drivers/pci/naming/names.ts';
import { readMdevParents, typeDirectory } from '#agent/sysfs/mdev.ts';
import { type PciFunction, readPlace } from '#agent/sysfs/pci.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';
import { type CardFacts, parseFramebuffer, typeTraitPart } from './facts.ts';
import { type NvidiaSettings, nvidiaName, type VgpuCards } from './settings.ts';
import type { VendorVgpus } from './vfio.ts';

const cleanSeconds = 300;

/** @param functions addresses of the virtual functions that have the type */
export function describeVendorCard(
  { clean }: NvidiaSettings,
  fn: PciFunction,
  { vgpu_type: type, resource_class, traits }: VgpuCards,
  functions: readonly string[],
): ReportedDevice {
  const { address, vendorId, productId, classCode } = fn;
  const trait = `CUSTOM_10DE_${productId}_${type}`.toUpperCase().replaceAll('-', '_');
  return {
    address,
    driver: nvidiaName,
    type: 'GPU',
    vendor: vendorId,
    product: productId,
    model: modelName(fn) ?? productId,
    std_board_info: JSON.stringify({ product_id: productId, class: `0x${classCode}` }),
    vendor_board_info: 'miss_vb_info',
    offers: {
      pool: type,
      resource_class: resource_class ?? 'VGPU',
      traits: [...new Set([trait, ...traits])],
      attach_handles: functions.map((each) => ({
        type: 'PCI' as const,
        info: { ...parsePciAddress(each), managed: 'no' },
        prepare: 'ahead' as const,
        ...(clean === 'recreate' && { clean_seconds: cleanSeconds }),
      })),
    },
    regions: [],
  };
}

/** A type of vGPU, as far as the host names it. */
interface VgpuType {
  readonly name: string;
  readonly description?: string;
}

export async function vgpuType(
  { sysfs }: DriverContext,
  vendor: VendorVgpus,
  { address }: PciFunction,
  type: string,
): Promise<VgpuType | undefined> {
  for (const parent of readMdevParents(sysfs).filter(({ physical }) => physical === address)) {
    const name = sysfs.readAttribute(`${typeDirectory(parent, type)}/name`);
    const description = sysfs.readAttribute(`${typeDirectory(parent, type)}/description`);
    if (name) return checked({ name, ...(description && { description }) });
  }
  const name = vendor.isUsed(address) ? await vendor.nameOf(address, type) : undefined;
  return name === undefined ? undefined : checked({ name });
}

function checked(type: VgpuType): VgpuType {
  if (/^[A-Za-z0-9][A-Za-z0-9 ._+-]{0,63}$/.test(type.name)) return type;
  throw new Error('the name of its vGPU type is invalid');
}

interface Card {
  readonly device: ReportedDevice;
  readonly fn: PciFunction;
  readonly facts: CardFacts;
  readonly type: VgpuType | undefined;
  readonly health: ReportedDevice['health'];
}

/** The device with the host's facts of the card, and the traits of Cyborg's driver. */
export function withFacts(context: DriverContext, card: Card): ReportedDevice {
  const { device, fn, facts, type, health } = card;
  const { model, uuid, firmware } = facts;
  const framebuffer = type && parseFramebuffer(type.name, type.description);
  const part = type && typeTraitPart(type.name);
  const trait = `CUSTOM_NVIDIA_${fn.productId.toUpperCase()}${part ? `_${part}` : ''}`;
  const attributes = {
    ...device.attributes,
    ...(uuid && { uuid }),
    ...present({ vgpu_name: type?.name }),
    ...(framebuffer && { framebuffer_mib: String(framebuffer) }),
  };
  const identity = device.identity ?? uuid;
  const { attributes: _attributes, ...bare } = device;
  return {
    ...bare,
    ...(model && { model }),
    ...(firmware && { firmware }),
    ...(identity && { identity }),
    ...present({ health }),
    ...readPlace(context.sysfs, fn),
    ...(Object.keys(attributes).length > 0 && { attributes }),
    ...(device.offers && {
      offers: { ...device.offers, traits: [...new Set([...device.offers.traits, trait])] },
    }),
  };
}
