// How a card of driver `intel_fpga` is reported.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import { pciTraits } from '#agent/drivers/pci/naming/ids.ts';
import { type PciFunction, readPciDetails, readPlace } from '#agent/sysfs/pci.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import type { ReportedDevice, ReportedRegion } from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { CardFacts } from './engines.ts';
import type { Content } from './known.ts';
import { type IntelFpgaSettings, intelFpgaName } from './settings.ts';

/** Ports, image and ports again; below five minutes the handle is not reserved meanwhile. */
const cleanSeconds = 280;

/**
 * Models by vendor, product and, if present, subsystem: OPAE, libraries/libopae-c/cfg-file.c;
 * Linux drivers/fpga/dfl-pci.c.
 */
const models: Readonly<Record<string, string>> = {
  '8086:09c4': 'PAC Arria10',
  '8086:0b30': 'PAC N3000',
  '8086:0b2b': 'PAC D5005',
  '8086:bcce:8086:138d': 'OFS D5005',
  '8086:bcce:8086:1770': 'OFS N6000',
  '8086:bcce:8086:1771': 'OFS N6001',
  '8086:bcce:8086:17d4': 'OFS C6100',
  '1c2c:1000': 'PAC N5010',
  '1c2c:1001': 'PAC N5011',
};

export interface OfferedRegion {
  readonly port: number;
  /** The function that a guest gets. */
  readonly address: string;
  readonly content: Pick<Content, 'image' | 'functions'>;
}

interface OfferedCard {
  readonly fn: PciFunction;
  readonly facts: CardFacts;
  readonly regions: readonly OfferedRegion[];
  readonly traits: readonly string[];
  readonly identity: string | undefined;
  readonly health: ReportedDevice['health'];
}

export function describeCard(
  { sysfs }: DriverContext,
  { clean }: IntelFpgaSettings,
  card: OfferedCard,
): ReportedDevice {
  const { fn, facts, regions, identity, health } = card;
  const { vendorId, productId, subsystemId, classCode } = fn;
  const id = `${vendorId}:${productId}`;
  const model = models[`${id}:${subsystemId}`] ?? models[id];
  const { revision } = readPciDetails(sysfs, fn);
  const traits = [
    // Cyborg's driver names the PAC with Arria 10 so; the others have the same form.
    'CUSTOM_FPGA_INTEL',
    ...(model ? [`CUSTOM_FPGA_INTEL_${model.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`] : []),
    `CUSTOM_FPGA_PRODUCT_ID_${productId.toUpperCase()}`,
    ...pciTraits(fn),
    ...card.traits,
  ];
  return {
    address: fn.address,
    driver: intelFpgaName,
    type: 'FPGA',
    // Cyborg's driver reports them with 0x, and no model.
    vendor: `0x${vendorId}`,
    product: `0x${productId}`,
    model: model ?? 'miss_model_info',
    std_board_info: JSON.stringify({
      product_id: `0x${productId}`,
      subsystem_id: subsystemId,
      class: `0x${classCode}`,
      revision,
    }),
    vendor_board_info: 'miss_vb_info',
    firmware: facts.static_region,
    attributes: { interface: facts.interface, ports: String(facts.ports) },
    ...(identity && { identity }),
    ...present({ health }),
    ...readPlace(sysfs, fn),
    regions: regions.map((region) => describeRegion(facts, region, [...new Set(traits)], clean)),
  };
}

function describeRegion(
  facts: CardFacts,
  { port, address, content }: OfferedRegion,
  traits: string[],
  clean: IntelFpgaSettings['clean'],
): ReportedRegion {
  const [first, ...others] = content.functions;
  return {
    name: regionName(port),
    kind: 'reconfigurable-region',
    'region-type-uuid': facts.interface,
    ...(content.image && { 'bitstream-id': content.image }),
    ...(first && { 'function-uuid': first }),
    ...(others.length > 0 && { 'function-uuids': others.slice(0, 16) }),
    resource_class: 'FPGA',
    traits,
    attach_handles: [
      {
        type: 'PCI',
        info: { ...parsePciAddress(address) },
        ...(clean !== 'none' && { clean_seconds: cleanSeconds }),
      },
    ],
  };
}

function regionName(port: number): string {
  return `region${port}`;
}

/** The port of a region; undefined for a name that is none. */
export function portOfRegion(name: string): number | undefined {
  const [, digit] = /^region(\d)$/.exec(name) ?? [];
  return digit === undefined ? undefined : Number(digit);
}
