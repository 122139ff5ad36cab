// The management engine (FME) of an FPGA card and its ports, as the kernel's DFL drivers, or the
// older driver intel-fpga of OPAE, show them below the PCI function. What is read from a register
// of the card goes through a child. Linux Documentation/ABI/testing/sysfs-platform-dfl-fme and
// sysfs-platform-dfl-port; OPAE, libraries/plugins/xfpga/sysfs.c.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';

/** What stays with a card while its own driver has it or not. */
export interface CardFacts {
  /** The interface of all regions; lower case, with hyphens. */
  readonly interface: string;
  /** Number of ports, each with one region. */
  readonly ports: number;
  /** The kernel's `bitstream_id`: the version of what is not reconfigured. */
  readonly static_region: string;
}

export interface Engine extends CardFacts {
  readonly address: string;
  readonly stack: 'dfl' | 'intel-fpga';
  /** Below the sysfs root: the engine, and the folder that it shares with the ports. */
  readonly path: string;
  readonly folder: string;
  /** `/dev/dfl-fme.0`. */
  readonly node: string;
}

export interface Port {
  readonly number: number;
  readonly path: string;
  readonly node: string;
}

interface Stack {
  readonly name: Engine['stack'];
  readonly parent: string;
  readonly folder: RegExp;
  readonly engine: RegExp;
  readonly port: RegExp;
}

// The helper takes numbers of two digits.
const stacks: readonly Stack[] = [
  {
    name: 'dfl',
    parent: 'fpga_region',
    folder: /^region\d{1,4}$/,
    engine: /^dfl-fme\.\d{1,2}$/,
    port: /^dfl-port\.\d{1,2}$/,
  },
  {
    name: 'intel-fpga',
    parent: 'fpga',
    folder: /^intel-fpga-dev\.\d{1,4}$/,
    engine: /^intel-fpga-fme\.\d{1,2}$/,
    port: /^intel-fpga-port\.\d{1,2}$/,
  },
];

interface Place {
  readonly stack: Stack;
  readonly folder: string;
  readonly names: readonly string[];
}

/** Where the driver of the function shows what it has found. */
function findPlace({ sysfs }: DriverContext, { path }: PciFunction): Place | undefined {
  for (const stack of stacks) {
    const folders = sysfs.list(`${path}/${stack.parent}`) ?? [];
    for (const name of folders.filter((each) => stack.folder.test(each))) {
      const folder = `${path}/${stack.parent}/${name}`;
      const names = sysfs.list(folder) ?? [];
      if (names.some((each) => stack.engine.test(each) || stack.port.test(each))) {
        return { stack, folder, names };
      }
    }
  }
  return undefined;
}

/** Undefined if no driver shows an engine. @throws if it cannot be read */
export async function readEngine(
  context: DriverContext,
  fn: PciFunction,
): Promise<Engine | undefined> {
  const place = findPlace(context, fn);
  const name = place?.names.find((each) => place.stack.engine.test(each));
  if (!place || !name) return undefined;
  const { folder, stack } = place;
  const path = `${folder}/${name}`;
  const read = (file: string) => context.hardware.readText(fn.address, `${path}/${file}`);
  const [count, id] = [await read('ports_num'), await read('bitstream_id')];
  const ports = /^[1-9]$/.test(count) ? Number(count) : undefined;
  if (ports === undefined) throw new Error('its number of ports is not one from 1 to 9');
  if (!/^0x[0-9a-f]{1,16}$/.test(id)) throw new Error('its bitstream_id is not a number');
  // A card that does not answer reads as all ones.
  if (id === '0xffffffffffffffff') throw new Error('it fell off the bus');
  return {
    address: fn.address,
    stack: stack.name,
    path,
    folder,
    node: `/dev/${name}`,
    ports,
    static_region: id,
    interface: await readInterface(context, fn, path, stack, ports),
  };
}

async function readInterface(
  { sysfs, hardware }: DriverContext,
  { address }: PciFunction,
  path: string,
  { name }: Stack,
  ports: number,
): Promise<string> {
  if (name === 'intel-fpga') {
    return parseUuid(await hardware.readText(address, `${path}/pr/interface_id`));
  }
  const regions = (sysfs.list(path) ?? []).filter((each) => /^dfl-fme-region\.\d+$/.test(each));
  // The kernel leaves out ports that are counted, and not implemented.
  if (regions.length !== ports) {
    throw new Error(`it has ${ports} ports and ${regions.length} regions`);
  }
  const ids = new Set<string>();
  for (const region of regions) {
    const folder = `${path}/${region}/fpga_region`;
    const [shown] = (sysfs.list(folder) ?? []).filter((each) => /^region\d+$/.test(each));
    ids.add(parseUuid(await hardware.readText(address, `${folder}/${shown}/compat_id`)));
  }
  const [only, ...more] = ids;
  if (only === undefined || more.length > 0) throw new Error('its regions have several interfaces');
  return only;
}

/** The ports that the function itself has: of a physical one, those that are not released. */
export async function readPorts(
  context: DriverContext,
  fn: PciFunction,
  /** Under which operations queue: that of the card. */
  device: string = fn.address,
): Promise<Port[]> {
  const place = findPlace(context, fn);
  const ports: Port[] = [];
  for (const name of place?.names.filter((each) => place.stack.port.test(each)) ?? []) {
    const path = `${place?.folder}/${name}`;
    if (!hasDriver(context, path)) continue;
    const id = await context.hardware.readText(device, `${path}/id`);
    if (!/^\d$/.test(id)) throw new Error(`the number of its port ${name} is not valid`);
    ports.push({ number: Number(id), path, node: `/dev/${name}` });
  }
  return ports.sort((a, b) => a.number - b.number);
}

/** A port without a driver has no file of its own. */
function hasDriver({ sysfs }: DriverContext, path: string): boolean {
  return sysfs.list(path)?.includes('id') ?? false;
}

/**
 * Whether a port has lost its driver: Linux 5.1 to 6.13 leave a port that was released, and
 * assigned again, without one (driver core: a device that was deleted is never probed).
 */
export function hasLostPort(context: DriverContext, fn: PciFunction): boolean {
  const place = findPlace(context, fn);
  const ports = place?.names.filter((each) => place.stack.port.test(each)) ?? [];
  return ports.some((name) => !hasDriver(context, `${place?.folder}/${name}`));
}

/** @throws HardwareError EBUSY while the port is disabled, as during programming */
export async function readFunction(
  { hardware }: DriverContext,
  address: string,
  { path }: Port,
): Promise<string> {
  return parseUuid(await hardware.readText(address, `${path}/afu_id`));
}

/** The kernel prints 32 digits. */
function parseUuid(text: string): string {
  const hex = text.toLowerCase();
  if (!/^[0-9a-f]{32}$/.test(hex)) throw new Error('one of its ids has not 32 digits');
  return [0, 8, 12, 16, 20].map((from, index, all) => hex.slice(from, all[index + 1])).join('-');
}
