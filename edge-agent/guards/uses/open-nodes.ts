// Which device nodes are open in other processes: one pass over /proc for all devices.

import { isNodeOfDriver } from '#agent/guards/kernel-drivers.ts';
import type { Proc } from '#agent/guards/proc.ts';
import { type PciFunction, readIfReadable } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import { findCarriers } from './block-uses.ts';

interface OpenNodes {
  /** Path of the node → the first process that has it open. */
  readonly byNode: ReadonlyMap<string, string>;
  /** mountinfo of each mount namespace of the host; none if the host's own cannot be read. */
  readonly mountTables: readonly string[];
  /** The host has more open files than the pass reads. */
  readonly isPartial: boolean;
}

/** 0.3 s of work; a large host with hundreds of guests has some 100,000 open files. */
const linksMax = 200_000;
/** Other work of the agent goes on between two groups of processes. */
const processesAtOnce = 16;

/** Folders of /dev with files and terminals of programs. */
const otherFolders = /^\/dev\/(shm|pts|mqueue|hugepages)\//;

interface PassGiven {
  readonly proc: Proc;
  /** Not counted, as it reads nodes itself. */
  readonly ownPid: string;
  readonly linksMax?: number;
}

export async function readOpenNodes(pass: PassGiven): Promise<OpenNodes> {
  const { proc, ownPid } = pass;
  const byNode = new Map<string, string>();
  const mounts = new Map<string, string>();
  const readMounts = (pid: string): boolean => {
    const namespace = proc.linkTarget(`${pid}/ns/mnt`) ?? pid;
    if (mounts.has(namespace)) return true;
    const table = proc.read(`${pid}/mountinfo`);
    if (table !== undefined) mounts.set(namespace, table);
    return table !== undefined;
  };
  // The agent's own namespace may lack mounts of the host (ProtectHome).
  const areMountsKnown = readMounts('self') && readMounts('1');
  let left = pass.linksMax ?? linksMax;
  const pids = (proc.list('.') ?? []).filter((name) => /^\d+$/.test(name));
  for (const [index, pid] of pids.entries()) {
    if (index % processesAtOnce === 0) await new Promise((resolve) => setImmediate(resolve));
    if (pid === ownPid) continue;
    // A process without open files (a kernel thread) has the namespaces of the host.
    const descriptors = proc.list(`${pid}/fd`) ?? [];
    if (descriptors.length === 0) continue;
    readMounts(pid);
    left -= descriptors.length;
    if (left < 0) break;
    for (const descriptor of descriptors) {
      const node = proc.linkTarget(`${pid}/fd/${descriptor}`);
      if (node === undefined || byNode.has(node) || !isDeviceNode(node)) continue;
      const name = proc.read(`${pid}/comm`)?.trim();
      byNode.set(node, name ? `process ${pid} (${name})` : `process ${pid}`);
    }
  }
  return {
    byNode,
    mountTables: areMountsKnown ? [...mounts.values()] : [],
    isPartial: left < 0 || pids.length === 0,
  };
}

function isDeviceNode(path: string): boolean {
  return path.startsWith('/dev/') && !otherFolders.test(path);
}

/** Below /dev. */
function nodeName(path: string): string {
  return path.replace(/^\/dev\//, '').replace(/ \(deleted\)$/, '');
}

/** Name below /dev → the functions to which the kernel's character device belongs. */
export type KernelNodes = ReadonlyMap<string, readonly string[]>;

/** MI300X in CPX mode: the kernel does not say of which card the partition is. */
const partitionOfAmd = /\/platform\/amdgpu_xcp[._]\d+\//;

/**
 * All character devices of the host that are below a PCI function, whatever their class: the
 * kernel names each in its entry by number.
 */
export function readKernelNodes(sysfs: Sysfs, functions: readonly PciFunction[]): KernelNodes {
  const nodes = new Map<string, readonly string[]>();
  const amd = functions.filter(({ boundDriver }) => boundDriver === 'amdgpu');
  for (const number of sysfs.list('dev/char') ?? []) {
    const entry = `dev/char/${number}`;
    const isPartition = partitionOfAmd.test(sysfs.linkTarget(entry) ?? '');
    const owners = isPartition ? amd.map(({ address }) => address) : findCarriers(sysfs, entry);
    if (owners.length === 0) continue;
    const uevent = readIfReadable(sysfs, `${entry}/uevent`) ?? '';
    const [, name] = /^DEVNAME=(.+)$/m.exec(uevent) ?? [];
    if (name) nodes.set(name, owners);
  }
  return nodes;
}

/** The functions that a node belongs to. */
interface NodeOwner {
  readonly owners: readonly string[];
  /** sysfs does not name the device: each function of the node's driver may be in use. */
  readonly sharedName?: string;
  /** VFIO's older node is one for all functions of a group. */
  readonly group?: string;
}

interface NodeNames {
  readonly kernelNodes: KernelNodes;
  readonly blocks: ReadonlyMap<string, readonly string[]>;
}

export function ownersOfNode(
  { proc }: { readonly proc: Proc },
  { kernelNodes, blocks }: NodeNames,
  node: string,
): NodeOwner {
  const name = nodeName(node);
  const [, group] = /^vfio\/(?:noiommu-)?(\d+)$/.exec(name) ?? [];
  if (group) return { owners: [], group };
  const [, minor] = /^nvidia(\d+)$/.exec(name) ?? [];
  if (minor) return { owners: nvidiaFunctions(proc, minor) };
  const owners = kernelNodes.get(name) ?? blocks.get(name) ?? [];
  return { owners, ...(owners.length === 0 && isNodeOfDriver(name) && { sharedName: name }) };
}

/** NVIDIA's nodes are in no class of sysfs; its driver lists them in procfs. */
function nvidiaFunctions(proc: Proc, minor: string): readonly string[] {
  return (proc.list('driver/nvidia/gpus') ?? []).filter((address) => {
    const text = proc.read(`driver/nvidia/gpus/${address}/information`) ?? '';
    return /^Device Minor:\s*(\d+)\s*$/m.exec(text)?.[1] === minor;
  });
}
