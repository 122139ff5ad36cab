// Whole PCI functions for passthrough: those on the operator's allow-list. One device per
// physical function; if its virtual functions are offered, each is a handle of the device.

import type { Log } from '#agent/log.ts';
import {
  answersOnBus,
  type PciFunction,
  pciSignature,
  readPciDetails,
  readPciFunctions,
} from '#agent/sysfs/pci.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { ReportedDevice, ReportedHandle } from '#core/contracts/inventory-report.ts';
import type { Driver } from './driver.ts';
import type { AllowListEntry } from './pci-allow-list.ts';
import { type Choice, choosePciFunctions } from './pci-choice.ts';
import { pciTraits } from './pci-ids.ts';

export interface PciDriverDeps {
  readonly sysfs: Sysfs;
  readonly allowList: readonly AllowListEntry[];
  readonly log: Log;
}

export function createPciDriver(deps: PciDriverDeps): Driver {
  let said: ReadonlyMap<string, string> = new Map();
  return {
    name: 'pci',
    signature: () => pciSignature(deps.sysfs),
    discover: async () => {
      const { devices, refusals } = await discoverPci(deps);
      for (const [address, reason] of refusals) {
        // Logged once, not every minute.
        if (said.get(address) === reason) continue;
        deps.log.warn('PCI function not offered', { address, reason });
      }
      said = refusals;
      return { devices };
    },
  };
}

async function discoverPci({ sysfs, allowList }: PciDriverDeps) {
  const refusals = new Map<string, string>();
  const functions = readPciFunctions(sysfs, (address, reason) => refusals.set(address, reason));
  const chosen = choosePciFunctions(functions, allowList);
  for (const [address, reason] of chosen.refusals) refusals.set(address, reason);
  const devices: Record<string, ReportedDevice> = {};
  // Sequential: if several devices hang, only one thread hangs.
  for (const choice of chosen.choices) {
    const { address } = choice.physical;
    try {
      if (await answersOnBus(sysfs, choice.physical)) devices[address] = describe(sysfs, choice);
      else refusals.set(address, 'fell off the bus');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      refusals.set(address, `cannot be read (${code ?? String(error)})`);
    }
  }
  return { devices, refusals };
}

function describe(sysfs: Sysfs, { physical, offered, type, entry }: Choice): ReportedDevice {
  const details = readPciDetails(sysfs, physical);
  return {
    address: physical.address,
    driver: 'pci',
    type,
    vendor: physical.vendorId,
    product: physical.productId,
    model: physical.productId,
    std_board_info: JSON.stringify({
      product_id: physical.productId,
      subsystem_id: physical.subsystemId,
      class: `0x${physical.classCode}`,
      revision: details.revision,
      numa_node: details.numaNode,
    }),
    // The same text as Cyborg's driver.
    vendor_board_info: 'miss_vb_info',
    offers: {
      resource_class: entry.resource_class,
      traits: [...new Set([...offered.flatMap(pciTraits), ...entry.traits])],
      attach_handles: offered.map(handleOf),
    },
    regions: [],
  };
}

function handleOf({ address }: PciFunction): ReportedHandle {
  const parsed = parsePciAddress(address);
  if (!parsed) throw new Error(`${address} is not a PCI address.`);
  const { domain, bus, device, function: fn } = parsed;
  return { type: 'PCI', info: { domain, bus, device, function: fn } };
}
