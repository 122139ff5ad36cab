// The network interface of a physical function, as iproute2 shows it. Its name is read from sysfs
// at each use, because interfaces are renamed and appear anew.

import * as z from 'zod';
import type { Hardware } from '#agent/hardware/port.ts';
import { type PciFunction, readIfReadable } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { type FunctionSettings, functionForm, toSettings } from './function.ts';

export interface LinkDeps {
  readonly sysfs: Sysfs;
  readonly hardware: Hardware;
}

export interface Interfaces {
  /** The card's own interface; in switchdev mode its uplink. */
  readonly uplink: string;
  /** Those of the virtual functions, in switchdev mode. */
  readonly representors: readonly string[];
}

export interface Link {
  readonly name: string;
  readonly isUp: boolean;
  readonly hasCarrier: boolean;
  /** The card's switch, in switchdev mode. */
  readonly switchId?: string;
  /** Number of the virtual function → its settings. */
  readonly functions: ReadonlyMap<number, FunctionSettings>;
}

const ipMs = 10_000;
/** Fewer characters than the kernel allows: no option of a program, and no path. */
const interfaceName = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,14}$/;
/** Port of a virtual function or a subfunction: `pf0vf3`, `c1pf0sf7` (Linux, net/devlink). */
const representorPort = /^(c\d+)?pf\d+(vf|sf)\d+$/;

const form = z
  .array(
    z.object({
      ifname: z.string(),
      flags: z.array(z.string()).max(64),
      parentdev: z.string().optional(),
      phys_switch_id: z
        .string()
        .regex(/^[0-9a-f]{2,64}$/)
        .optional()
        .catch(undefined),
      vfinfo_list: z.array(functionForm).max(4096).default([]),
    }),
  )
  .length(1);

/** Remembers the ports of interfaces: each read is a child process, and ports do not change. */
export function createPorts({ sysfs, hardware }: LinkDeps) {
  const portNames = new Map<string, string>();
  const readPort = async ({ address, path }: PciFunction, name: string): Promise<string> => {
    const index = readIfReadable(sysfs, `${path}/net/${name}/ifindex`) ?? '';
    const key = `${address} ${name} ${index}`;
    const before = portNames.get(key);
    if (before !== undefined) return before;
    const file = `${path}/net/${name}/phys_port_name`;
    // EOPNOTSUPP where the driver names no ports.
    const port = await hardware.readText(address, file).catch(() => '');
    portNames.set(key, port);
    return port;
  };
  return {
    /** @throws a clause, which completes "The device at <address> ..." */
    interfacesOf: async (fn: PciFunction): Promise<Interfaces> => {
      const names = interfaceNames(sysfs, fn);
      if (names.length < 2) return { uplink: onlyOne(names), representors: [] };
      const representors: string[] = [];
      for (const name of names) {
        if (representorPort.test(await readPort(fn, name))) representors.push(name);
      }
      const others = names.filter((name) => !representors.includes(name));
      return { uplink: onlyOne(others), representors };
    },
  };
}
export type Ports = ReturnType<typeof createPorts>;

function interfaceNames(sysfs: Sysfs, { path }: PciFunction): string[] {
  return (sysfs.list(`${path}/net`) ?? []).filter((name) => interfaceName.test(name)).sort();
}

function onlyOne(names: readonly string[]): string {
  const [first, second] = names;
  if (first === undefined) throw new Error('has no network interface on this host');
  if (second === undefined) return first;
  throw new Error(`has several network interfaces: ${names.slice(0, 4).join(', ')}`);
}

/** A representor that is part of another interface, such as a bridge of Open vSwitch. */
export function usedRepresentor(
  sysfs: Sysfs,
  { path }: PciFunction,
  { representors }: Interfaces,
): string | undefined {
  for (const name of representors) {
    const upper = sysfs.linkName(`${path}/net/${name}/master`);
    if (upper) return `${upper} uses ${name}`;
  }
  return undefined;
}

/** @throws a sentence if iproute2 fails, or prints what is not valid */
export async function readLink(
  { hardware }: LinkDeps,
  { address }: PciFunction,
  name: string,
): Promise<Link> {
  const args = ['-json', '-details', 'link', 'show', 'dev', name];
  const { exitCode, stdout, stderr } = await hardware.exec(address, 'ip', args, ipMs);
  if (exitCode !== 0) throw new Error(`ip link show ${name} failed: ${firstLine(stderr)}`);
  const link = parsed(stdout, name);
  // Interfaces may have been renamed since sysfs was read.
  if (link.ifname !== name || (link.parentdev ?? address) !== address) {
    throw new Error(`The interface ${name} is not that of ${address}.`);
  }
  return {
    name,
    isUp: link.flags.includes('UP'),
    hasCarrier: link.flags.includes('LOWER_UP'),
    ...(link.phys_switch_id && { switchId: link.phys_switch_id }),
    functions: new Map(link.vfinfo_list.map((each) => [each.vf, toSettings(each)])),
  };
}

/** Pure. @throws a sentence if the text is not what the form says */
function parsed(text: string, name: string): z.infer<typeof form>[number] {
  const [first] = form.safeParse(parseJson(text)).data ?? [];
  if (first) return first;
  throw new Error(`ip link show ${name} printed what is not valid for it.`);
}

/** Sets one thing of a virtual function. @returns what iproute2 says if it fails */
export async function setFunction(
  { hardware }: LinkDeps,
  { address }: PciFunction,
  name: string,
  args: readonly string[],
): Promise<string | undefined> {
  const all = ['link', 'set', 'dev', name, ...args];
  const { exitCode, stderr } = await hardware.exec(address, 'ip', all, ipMs);
  return exitCode === 0 ? undefined : firstLine(stderr) || `exit code ${exitCode}`;
}

function firstLine(text: string): string {
  const [line = ''] = text.trim().split('\n');
  return line.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 120);
}
