// The files of a new driver.

export interface Names {
  /** `acme_npu` */
  readonly name: string;
  /** `acme-npu` */
  readonly file: string;
  /** `AcmeNpu` */
  readonly pascal: string;
  /** `acmeNpu` */
  readonly camel: string;
}

export function driverText({ name, pascal, camel }: Names): string {
  const custom = `CUSTOM_${name.toUpperCase()}`;
  return `// Driver ${name}: PCI functions with the ids of the settings, each passed through as a whole.

import * as z from 'zod';
import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Driver, NotOffered } from '#agent/drivers/contract/driver.ts';
import { type PciFunction, pciSignature, readPciFunctions } from '#agent/sysfs/pci.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';

const id = z.string().regex(/^[0-9a-f]{4}$/, 'must be four hexadecimal digits, in lower case');

export const ${camel}Settings = z.strictObject({ vendor_id: id, product_id: id });
type Settings = z.infer<typeof ${camel}Settings>;

export function create${pascal}Driver(settings: Settings, context: DriverContext): Driver {
  const { sysfs, guards } = context;
  const isOurs = ({ vendorId, productId }: PciFunction) =>
    vendorId === settings.vendor_id && productId === settings.product_id;
  return {
    name: '${name}',
    signature: () => pciSignature(sysfs),
    discover: async () => {
      const notOffered: NotOffered[] = [];
      const all = readPciFunctions(sysfs, (address, reason) => {
        notOffered.push({ address, reason });
      });
      const functions = all.filter(isOurs);
      const refusals = await guards.check({ driver: '${name}', wanted: functions, all, isOurs });
      const devices: Record<string, ReportedDevice> = {};
      for (const fn of functions) {
        const reason = refusals.get(fn.address);
        if (reason === undefined) devices[fn.address] = describe(fn);
        else notOffered.push({ address: fn.address, reason });
      }
      return { devices, notOffered };
    },
  };
}

function describe({ address, vendorId, productId, classCode }: PciFunction): ReportedDevice {
  const parsed = parsePciAddress(address);
  if (!parsed) throw new Error(\`\${address} is not a PCI address.\`);
  return {
    address,
    driver: '${name}',
    type: 'AICHIP',
    vendor: vendorId,
    product: productId,
    model: productId,
    std_board_info: JSON.stringify({ product_id: productId, class: \`0x\${classCode}\` }),
    offers: {
      resource_class: '${custom}',
      traits: ['${custom}'],
      attach_handles: [{ type: 'PCI', info: { ...parsed } }],
    },
    regions: [],
  };
}
`;
}

export function fixtureText({ name }: Names): string {
  return `// Two cards of driver ${name}.

import type { DriverFixture } from '#test/drivers/fixture.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';

const ids = { vendor: '1ae0', product: '0001' } as const;

export const fixture: DriverFixture = {
  module: ownDriver('${name}'),
  settings: { vendor_id: ids.vendor, product_id: ids.product },
  bus: ['bus/pci/devices'],
  host: () => {
    const tree = aSysfsTree();
    tree.addFunction({ ...ids, address: '0000:3b:00.0', classCode: '120000' });
    tree.addFunction({ ...ids, address: '0000:5e:00.0', classCode: '120000' });
    return { root: tree.root, remove: () => tree.remove() };
  },
};
`;
}

export function pageText({ name }: Names): string {
  return `# Driver ${name}

The driver \`${name}\` passes PCI functions through, each as a whole.
It has met sysfs trees in tests, never a device.

[settings.example.json](settings.example.json) shows its settings.

| key | |
|---|---|
| \`vendor_id\`, \`product_id\` | four hexadecimal digits |
`;
}

/** The ids of the fixture's cards. */
export const exampleSettings = { vendor_id: '1ae0', product_id: '0001' };

export function exampleText({ name }: Names): string {
  return JSON.stringify({ drivers: [name], [name]: exampleSettings });
}

/** An operator's driver: docs/drivers.md prints it. */
export function moduleText(name: string): string {
  const custom = `CUSTOM_${name.toUpperCase()}`;
  return `// @ts-check
const name = '${name}';

/** @type {import('cyborg-driver').MakeDriver} */
export default ({ defineDriver, readPciFunctions, parsePciAddress, z }) =>
  defineDriver({
    name,
    settings: z.strictObject({ vendor_id: z.string(), product_id: z.string() }),
    create: ({ vendor_id: vendor, product_id: product }, { sysfs, guards }) => ({
      name,
      discover: async () => {
        const isOurs = (fn) => fn.vendorId === vendor && fn.productId === product;
        const all = readPciFunctions(sysfs, () => {});
        const functions = all.filter(isOurs);
        const refused = await guards.check({ driver: name, wanted: functions, all, isOurs });
        const devices = {};
        for (const { address } of functions.filter((fn) => !refused.has(fn.address))) {
          const handle = { type: 'PCI', info: parsePciAddress(address) };
          const offers = { resource_class: '${custom}', traits: [], attach_handles: [handle] };
          const card = { address, driver: name, type: 'AICHIP', vendor, product, model: name };
          devices[address] = { ...card, offers };
        }
        const notOffered = [...refused].map(([address, reason]) => ({ address, reason }));
        return { devices, notOffered };
      },
    }),
  });
`;
}
