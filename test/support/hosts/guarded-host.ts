// A host for tests of guards and of driver pci: a tree of sysfs and one of procfs, with the ports
// that the agent opens on them.

import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock } from '#agent/clock.ts';
import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import { pciAllowList } from '#agent/drivers/pci/allow-list.ts';
import { createPciDriver } from '#agent/drivers/pci/index.ts';
import { type Guards, type GuardsDeps, openGuards } from '#agent/guards/guards.ts';
import { openDomains, type ReadDomains } from '#agent/guards/libvirt/domains.ts';
import { type OfferedBefore, openOfferedBefore } from '#agent/guards/offered-before.ts';
import { openProc } from '#agent/guards/proc.ts';
import { type Hardware, openHardware } from '#agent/hardware/port.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { readPciFunctions } from '#agent/sysfs/pci.ts';
import { openSysfs, type Sysfs } from '#agent/sysfs/root.ts';
import { aLog } from './agent.ts';
import { DomainFolder } from './domain-folder.ts';
import { ProcTree } from './proc-tree.ts';
import { aSysfsTree, type SysfsTree } from './sysfs.ts';

export interface GuardedHost {
  readonly tree: SysfsTree;
  readonly proc: ProcTree;
  /** Absent until a domain is defined, as on a host without libvirt. */
  readonly domains: DomainFolder;
  readonly readDomains: ReadDomains;
  readonly sysfs: Sysfs;
  readonly hardware: Hardware;
  readonly log: ReturnType<typeof aLog>;
  /** The setting `unguarded_kernel_drivers`. */
  readonly unguardedDrivers: string[];
  /** The guards as after a start of the agent; its state stays. */
  guards(given?: Hardware, more?: Partial<GuardsDeps>): Promise<Guards>;
  /** Why new guards refuse a function that is asked for with these. */
  check(address: string, wanted?: readonly string[]): Promise<string | undefined>;
  /** Why new guards refuse a function before one of its handles is prepared. */
  recheck(address: string): Promise<string | undefined>;
  /** Driver pci with the entries of an allow list. */
  pciDriver(entries: unknown, given?: Hardware): Promise<ReturnType<typeof createPciDriver>>;
  /** What the agent gives a driver, with what a test gives in its place. */
  context(given?: Partial<DriverContext>): Promise<DriverContext>;
  /** An entry of a class, as a link to a folder below the function. */
  addEntry(entry: string, address: string, below: string): string;
  /** A character device of the function, by its name below /dev. */
  addNode(name: string, address: string): void;
  /** A guest has the function open, as process 31. */
  openVfio(address: string): void;
  remove(): void;
}

export function aGuardedHost(): GuardedHost {
  const tree = aSysfsTree();
  const proc = new ProcTree();
  const sysfs = openSysfs(tree.root);
  const hardware = openHardware({ sysfs, procRoot: proc.root, clock: systemClock });
  const log = aLog();
  const domains = new DomainFolder();
  const readDomains = openDomains({ path: domains.path, isNamed: false });
  const unguardedDrivers: string[] = [];
  const state = join(proc.root, 'state');
  let nodes = 0;
  const guards = async (given: Hardware = hardware, more: Partial<GuardsDeps> = {}) =>
    openGuards({
      sysfs,
      hardware: given,
      proc: openProc(proc.root),
      ownPid: '4711',
      unguardedDrivers,
      offeredBefore: await openOfferedBefore(openStateFiles(state), log),
      readDomains: openDomains({ path: domains.path, isNamed: false }),
      ...more,
    });
  return {
    tree,
    proc,
    domains,
    readDomains,
    sysfs,
    hardware,
    log,
    unguardedDrivers,
    guards,
    context: async (given) => ({
      sysfs,
      hardware,
      log,
      guards: await guards(),
      clock: systemClock,
      directory: state,
      thing: 'test:cmp1',
      bootId: 'boot-1',
      isPrepared: () => false,
      prepared: () => [],
      ...given,
    }),
    check: async (address, wanted = [address]) => {
      const all = readPciFunctions(sysfs, () => {});
      const asked = { driver: 'pci', all, isOurs: () => false };
      const refusals = await (await guards()).check({
        ...asked,
        wanted: all.filter((fn) => wanted.includes(fn.address)),
      });
      return refusals.get(address);
    },
    recheck: async (address) => (await guards()).recheck(address, () => false),
    pciDriver: async (entries, given = hardware) =>
      createPciDriver({
        clock: systemClock,
        sysfs,
        hardware: given,
        guards: await guards(given),
        log,
        allowList: pciAllowList.parse(entries),
      }),
    addEntry: (entry, address, below) => {
      const path = `${tree.pathOf(address)}/${below}`;
      mkdirSync(join(tree.root, path), { recursive: true });
      mkdirSync(join(tree.root, dirname(entry)), { recursive: true });
      const depth = '../'.repeat(entry.split('/').length - 1);
      rmSync(join(tree.root, entry), { force: true });
      symlinkSync(`${depth}${path}`, join(tree.root, entry));
      return path;
    },
    addNode: (name, address) => {
      nodes += 1;
      const path = `${tree.pathOf(address)}/nodes/${name.replaceAll('/', '!')}`;
      tree.write(`${path}/uevent`, `MAJOR=240\nMINOR=${nodes}\nDEVNAME=${name}\n`);
      tree.link(`dev/char/240:${nodes}`, path);
    },
    openVfio: (address) => {
      const group = sysfs.linkName(`bus/pci/devices/${address}/iommu_group`);
      proc.addProcess(31, { comm: 'qemu', open: [`/dev/vfio/${group}`] });
    },
    remove: () => {
      tree.remove();
      proc.remove();
      domains.remove();
    },
  };
}

/** Guards of drivers that ask none. */
export const noGuards: Guards = {
  check: async () => new Map(),
  recheck: async () => undefined,
  heldBy: async () => new Map(),
  ofServers: async () => ({ held: new Map() }),
  isOffered: () => false,
  cardAt: () => undefined,
  asksCards: () => false,
  findOtherCards: async () => new Map(),
  keepCards: async () => new Map(),
};

/** The list of offered functions of a host that keeps none. */
export const nothingOffered: OfferedBefore = {
  functionsOf: () => new Set(),
  has: () => false,
  replace: async () => {},
  cardAt: () => undefined,
  asksCards: () => false,
  learnCards: async () => {},
  keepCards: async () => {},
  confirmations: async () => ({}),
};
