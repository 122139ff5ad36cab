// Which device nodes are open in other processes: one pass over /proc for all devices.

import type { Sysfs } from '#agent/sysfs/root.ts';
import { isNodeOfDriver } from './kernel-drivers.ts';
import { findOwner } from './owner.ts';
import type { Proc } from './proc.ts';

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

const nodePattern =
  /^\/dev\/(vfio\/|nvidia\d|nvme|ng\d|dri\/|accel\/|infiniband\/|snd\/|uio\d|sd|vd|(?:dfl|intel-fpga)-port\.\d)/;

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
  return nodePattern.test(path) || (path.startsWith('/dev/') && isNodeOfDriver(nodeName(path)));
}

/** Below /dev. */
function nodeName(path: string): string {
  return path.replace(/^\/dev\//, '').replace(/ \(deleted\)$/, '');
}

/** Folder of /dev, names in it, class in sysfs. */
const classes: readonly (readonly [node: RegExp, folder: string])[] = [
  [/^vfio\/devices\/(vfio\d+)$/, 'class/vfio-dev'],
  [/^dri\/((?:card|renderD)\d+)$/, 'class/drm'],
  [/^accel\/(accel(?:_controlD)?\d+)$/, 'class/accel'],
  [/^((?:hl|hl_controlD)\d+)$/, 'class/habanalabs'],
  [/^snd\/((?:control|hw|midi|pcm)C\w+)$/, 'class/sound'],
  [/^infiniband\/(uverbs\d+)$/, 'class/infiniband_verbs'],
  [/^infiniband\/((?:umad|issm)\d+)$/, 'class/infiniband_mad'],
  [/^(nvme\d+)$/, 'class/nvme'],
  [/^(ng\d+n\d+)$/, 'class/nvme-generic'],
  [/^(uio\d+)$/, 'class/uio'],
  // Ports of FPGAs are in no class.
  [/^((?:dfl|intel-fpga)-port\.\d+)$/, 'bus/platform/devices'],
];

/** The functions that a node belongs to. */
interface NodeOwner {
  readonly owners: readonly string[];
  /** sysfs does not name the device: each function of the node's driver may be in use. */
  readonly sharedName?: string;
  /** VFIO's older node is one for all functions of a group. */
  readonly group?: string;
}

export function ownersOfNode(
  { sysfs, proc }: { readonly sysfs: Sysfs; readonly proc: Proc },
  blocks: ReadonlyMap<string, readonly string[]>,
  node: string,
): NodeOwner {
  const name = nodeName(node);
  const [, group] = /^vfio\/(?:noiommu-)?(\d+)$/.exec(name) ?? [];
  if (group) return { owners: [], group };
  const [, minor] = /^nvidia(\d+)$/.exec(name) ?? [];
  if (minor) return { owners: nvidiaFunctions(proc, minor) };
  for (const [pattern, folder] of classes) {
    const [, entry] = pattern.exec(name) ?? [];
    const owner = entry && findOwner(sysfs, `${folder}/${entry}`);
    if (owner) return { owners: [owner] };
  }
  const owners = blocks.get(name) ?? [];
  return { owners, ...(owners.length === 0 && { sharedName: name }) };
}

/** NVIDIA's nodes are in no class of sysfs; its driver lists them in procfs. */
function nvidiaFunctions(proc: Proc, minor: string): readonly string[] {
  return (proc.list('driver/nvidia/gpus') ?? []).filter((address) => {
    const text = proc.read(`driver/nvidia/gpus/${address}/information`) ?? '';
    return /^Device Minor:\s*(\d+)\s*$/m.exec(text)?.[1] === minor;
  });
}
