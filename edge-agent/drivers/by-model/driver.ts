// Sells PCI functions by a table of models: no code per vendor. Everything that is done to a
// function is done by driver `pci`; this one says which functions, and what they are.

import {
  type DriverContext,
  type DriverModule,
  defineDriver,
} from '#agent/drivers/contract/define-driver.ts';
import type { Discovery, Driver, NotOffered } from '#agent/drivers/contract/driver.ts';
import { createPciDriver } from '#agent/drivers/pci/index.ts';
import { type PciFunction, readIfReadable, readPciFunctions } from '#agent/sysfs/pci.ts';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import { idsOf, type ModelRow, type ModelTable } from './rows.ts';
import {
  entriesOf,
  type ModelDevice,
  type ModelSettings,
  modelSettings,
  rowsOf,
  wantedRows,
} from './settings.ts';

export function defineModelDriver(table: ModelTable): DriverModule {
  return defineDriver({
    name: table.driver,
    settings: modelSettings(table),
    create: (settings, context) => createModelDriver(table, settings, context),
  });
}

export function createModelDriver(
  table: ModelTable,
  settings: ModelSettings,
  context: DriverContext,
): Driver {
  const { sysfs } = context;
  const entries = entriesOf(table, settings);
  const rows = rowsOf(table, settings);
  const pci = createPciDriver({
    ...context,
    name: table.driver,
    allowList: [...entries.keys()],
    known: ({ entry }) => {
      const row = entries.get(entry);
      if (!row) return {};
      const { name: model, function: kind, attributes } = row;
      return { model, attributes: { model, function: kind, ...attributes } };
    },
  });
  return {
    ...pci,
    discover: async () => {
      const found = await pci.discover();
      const said = new Set(addressesOf(found));
      // What cannot be read is reported by the discovery above.
      const functions = readPciFunctions(sysfs, (address) => said.add(address));
      const virtualIdOf = ({ path }: PciFunction) =>
        readIfReadable(sysfs, `${path}/sriov_vf_device`)?.padStart(4, '0');
      const missing = missingOf({ table, settings, rows, functions, virtualIdOf });
      const notOffered = missing.filter(({ address }) => !said.has(address));
      return { ...found, notOffered: [...(found.notOffered ?? []), ...notOffered] };
    },
  };
}

/** What the discovery offers or names. */
function addressesOf({ devices, notOffered = [] }: Discovery): string[] {
  const offered = Object.values(devices).flatMap(({ address, offers }) => [
    address,
    ...(offers?.attach_handles ?? []).flatMap(({ info }) => {
      const { domain, bus, device, function: fn } = info;
      const parsed = parsePciAddress(`${domain}:${bus}:${device}.${fn}`);
      return parsed ? [printPciAddress(parsed)] : [];
    }),
  ]);
  return [...offered, ...notOffered.map(({ address }) => address)];
}

interface Asked {
  readonly table: ModelTable;
  readonly settings: ModelSettings;
  readonly rows: readonly ModelRow[];
  readonly functions: readonly PciFunction[];
  /** The product id of the virtual functions that a card can have. */
  readonly virtualIdOf: (fn: PciFunction) => string | undefined;
}

/** What the settings name and no entry has matched, with the setting that helps. */
function missingOf(asked: Asked): NotOffered[] {
  const reasons = new Map<string, string>();
  for (const chosen of asked.settings.devices) {
    for (const address of chosen.addresses ?? []) {
      const reason = reasonAt(asked, chosen, address);
      if (reason !== undefined && !reasons.has(address)) reasons.set(address, reason);
    }
    if (chosen.addresses) continue;
    for (const fn of asked.functions) {
      const reason = reasonWithoutVirtual(asked, chosen, fn);
      if (reason !== undefined && !reasons.has(fn.address)) reasons.set(fn.address, reason);
    }
  }
  return [...reasons].map(([address, reason]) => ({ address, reason }));
}

function reasonAt(asked: Asked, chosen: ModelDevice, address: string): string | undefined {
  const { table, rows, functions } = asked;
  const fn = functions.find((each) => each.address === address);
  if (!fn) return 'is not on this host';
  const wanted = reasonWithoutVirtual(asked, chosen, fn);
  if (wanted !== undefined) return wanted;
  const id = `${fn.vendorId}:${fn.productId}`;
  const row = rows.find(
    (each) => idsOf(each).includes(id) && isVirtual(each) === (fn.physicalFunction !== undefined),
  );
  if (!row) return `is ${id}, which no model has: add a row for it to ${table.driver}.rows`;
  if (row.class !== undefined && !fn.classCode.startsWith(row.class)) {
    return `has class ${fn.classCode}, and the model ${row.name} has class ${row.class}`;
  }
  return chosen.model === undefined || chosen.model === row.name
    ? undefined
    : `is the model ${row.name}, and ${table.driver}.devices names it as ${chosen.model}`;
}

/** A card that is offered by virtual functions, and has none. */
function reasonWithoutVirtual(
  { table, rows, functions, virtualIdOf }: Asked,
  chosen: ModelDevice,
  fn: PciFunction,
): string | undefined {
  // With an address alone the card itself is offered while it has none.
  if (chosen.model === undefined || fn.physicalFunction !== undefined) return undefined;
  const [row] = wantedRows(chosen, rows);
  if (!row || !isVirtual(row) || fn.vendorId !== row.vendor_id) return undefined;
  if (!row.product_ids.includes(virtualIdOf(fn) ?? '')) return undefined;
  if (functions.some(({ physicalFunction }) => physicalFunction === fn.address)) return undefined;
  return (
    `has no virtual functions of the model ${row.name}: ` +
    `set virtual_functions in ${table.driver}.devices, or make them with its driver`
  );
}

function isVirtual(row: ModelRow): boolean {
  return row.function === 'virtual';
}
