// Offers PCI functions by a table of models: no code per vendor. Driver `pci` does the work; this
// driver says which functions, and what they are.

import {
  type DriverContext,
  type DriverModule,
  defineDriver,
} from '#agent/drivers/contract/define-driver.ts';
import type { Discovery, Driver, NotOffered } from '#agent/drivers/contract/driver.ts';
import { createPciDriver, offeredAddresses } from '#agent/drivers/pci/index.ts';
import { type PciFunction, readIfReadable, readPciFunctions } from '#agent/sysfs/pci.ts';
import { type ModelRow, type ModelTable, modelIds } from './rows.ts';
import {
  allRows,
  type ModelDevice,
  type ModelSettings,
  modelSettings,
  toAllowList,
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
  const entries = toAllowList(table, settings);
  const rows = allRows(table, settings);
  const pci = createPciDriver({
    ...context,
    name: table.driver,
    allowList: [...entries.keys()],
    // An address takes each model of the table, so it names none.
    namesIds: ({ address }) => address === undefined,
    describe: ({ entry }) => {
      const row = entries.get(entry);
      if (!row) return {};
      const { name: model, function: kind, attributes } = row;
      return { model, attributes: { model, function: kind, ...attributes } };
    },
  });
  return {
    ...pci,
    discover: async () => {
      const discovery = await pci.discover();
      const named = new Set(namedAddresses(discovery));
      // What cannot be read is reported by the discovery above.
      const functions = readPciFunctions(sysfs, (address) => named.add(address));
      const readVirtualId = ({ path }: PciFunction) =>
        readIfReadable(sysfs, `${path}/sriov_vf_device`)?.padStart(4, '0');
      const missing = findMissing({ table, settings, rows, functions, readVirtualId });
      const notOffered = missing.filter(({ address }) => !named.has(address));
      return { ...discovery, notOffered: [...(discovery.notOffered ?? []), ...notOffered] };
    },
  };
}

/** What the discovery offers or names. */
function namedAddresses({ devices, notOffered = [] }: Discovery): string[] {
  const offered = Object.values(devices).flatMap((device) => [
    device.address,
    ...offeredAddresses(device),
  ]);
  return [...offered, ...notOffered.map(({ address }) => address)];
}

interface Query {
  readonly table: ModelTable;
  readonly settings: ModelSettings;
  readonly rows: readonly ModelRow[];
  readonly functions: readonly PciFunction[];
  /** The product id of the virtual functions that a card can have. */
  readonly readVirtualId: (fn: PciFunction) => string | undefined;
}

/** What the settings name and no entry has matched, with the setting that helps. */
function findMissing(query: Query): NotOffered[] {
  const reasons = new Map<string, string>();
  for (const chosen of query.settings.devices) {
    for (const address of chosen.addresses ?? []) {
      const reason = reasonAt(query, chosen, address);
      if (reason !== undefined && !reasons.has(address)) reasons.set(address, reason);
    }
    if (chosen.addresses) continue;
    for (const fn of query.functions) {
      const reason = reasonWithoutVirtual(query, chosen, fn);
      if (reason !== undefined && !reasons.has(fn.address)) reasons.set(fn.address, reason);
    }
  }
  return [...reasons].map(([address, reason]) => ({ address, reason }));
}

function reasonAt(query: Query, chosen: ModelDevice, address: string): string | undefined {
  const { table, rows, functions } = query;
  const fn = functions.find((each) => each.address === address);
  if (!fn) return 'is not on this host';
  const reason = reasonWithoutVirtual(query, chosen, fn);
  if (reason !== undefined) return reason;
  const id = `${fn.vendorId}:${fn.productId}`;
  const row = rows.find(
    (each) =>
      modelIds(each).includes(id) && isVirtual(each) === (fn.physicalFunction !== undefined),
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
  { table, rows, functions, readVirtualId }: Query,
  chosen: ModelDevice,
  fn: PciFunction,
): string | undefined {
  // With an address alone the card itself is offered while it has none.
  if (chosen.model === undefined || fn.physicalFunction !== undefined) return undefined;
  const [row] = wantedRows(chosen, rows);
  if (!row || !isVirtual(row) || fn.vendorId !== row.vendor_id) return undefined;
  if (!row.product_ids.includes(readVirtualId(fn) ?? '')) return undefined;
  if (functions.some(({ physicalFunction }) => physicalFunction === fn.address)) return undefined;
  return (
    `has no virtual functions of the model ${row.name}: ` +
    `set virtual_functions in ${table.driver}.devices, or make them with its driver`
  );
}

function isVirtual(row: ModelRow): boolean {
  return row.function === 'virtual';
}
