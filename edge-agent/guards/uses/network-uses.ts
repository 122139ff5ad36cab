// Which devices carry the host's own network. An interface that is merely up is not in use: hosts
// bring up every port. It is in use with an address or a route, or below another interface (bond,
// bridge, VLAN), or when another network namespace has it.

import { findOwner } from '#agent/guards/owner.ts';
import type { Proc } from '#agent/guards/proc.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { Note } from './uses.ts';

/** @returns why the uses are not known; undefined if they are */
export function noteNetworkUses(
  { sysfs, proc }: { readonly sysfs: Sysfs; readonly proc: Proc },
  functions: ReadonlyMap<string, PciFunction>,
  note: Note,
): string | undefined {
  for (const { address, path, classCode, boundDriver } of functions.values()) {
    // sysfs shows the interfaces of the agent's namespace; the folder shows that there is one.
    const isNetwork = classCode.startsWith('02') && boundDriver !== undefined;
    if (isNetwork && sysfs.list(`${path}/net`)?.length === 0) {
      note(address, { kind: 'other-namespace' });
    }
  }
  const interfaces = (sysfs.list('class/net') ?? []).flatMap((network) => {
    const address = findOwner(sysfs, `class/net/${network}`);
    return address !== undefined && functions.has(address) ? [{ network, address }] : [];
  });
  if (interfaces.length === 0) return undefined;
  const routes = readRoutes(proc);
  for (const { network, address } of interfaces) {
    if (routes.defaults.has(network)) note(address, { kind: 'default-route', network });
    if (routes.addressed.has(network)) note(address, { kind: 'address', network });
    const upper = findUpper(sysfs, network);
    if (upper !== undefined) note(address, { kind: 'below', network, holder: upper });
  }
  return routes.isKnown ? undefined : 'the routes of the host cannot be read';
}

/** The bond or bridge that an interface is below. */
export function findUpper(sysfs: Sysfs, network: string): string | undefined {
  const master = sysfs.linkName(`class/net/${network}/master`);
  const upper = (sysfs.list(`class/net/${network}`) ?? []).find((each) =>
    each.startsWith('upper_'),
  );
  return master ?? upper?.slice('upper_'.length);
}

/** Interfaces with a default route, and with an address. */
export function readRoutes(proc: Proc) {
  const [defaults, addressed] = [new Set<string>(), new Set<string>()];
  const ipv4 = proc.read('net/route');
  for (const line of ipv4?.split('\n').slice(1) ?? []) {
    const [network = '', destination, , , , , , mask] = line.split(/\s+/);
    if (!network) continue;
    // Every IPv4 address makes a route for its subnet.
    addressed.add(network);
    if (destination === '00000000' && mask === '00000000') defaults.add(network);
  }
  // A kernel without IPv6 lacks both files.
  for (const line of proc.read('net/ipv6_route')?.split('\n') ?? []) {
    const [destination = '', length, , , , , , , , network = ''] = line.split(/\s+/);
    if (length === '00' && /^0+$/.test(destination)) defaults.add(network);
  }
  for (const line of proc.read('net/if_inet6')?.split('\n') ?? []) {
    const [, , , scope, , network = ''] = line.trim().split(/\s+/);
    // Every interface that is up has a link-local address.
    if (scope !== undefined && scope !== '20') addressed.add(network);
  }
  return { defaults, addressed, isKnown: ipv4 !== undefined };
}
