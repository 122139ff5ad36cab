// Which devices hold file systems, swap or parts of volumes of the host.

import { posix } from 'node:path';
import { findOwner } from '#agent/guards/owner.ts';
import type { Proc } from '#agent/guards/proc.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { Note } from './uses.ts';

/** Block devices, partitions included, with the functions that carry each. */
export type Blocks = ReadonlyMap<string, readonly string[]>;

export function readBlocks(sysfs: Sysfs, addresses: ReadonlyMap<string, unknown>): Blocks {
  const blocks = new Map<string, readonly string[]>();
  for (const name of sysfs.list('class/block') ?? []) {
    const carriers = findCarriers(sysfs, `class/block/${name}`).filter((address) =>
      addresses.has(address),
    );
    if (carriers.length > 0) blocks.set(name, carriers);
  }
  return blocks;
}

/**
 * The functions to which an entry of a class belongs. A namespace of an NVMe subsystem is below no
 * controller: it may have several.
 */
export function findCarriers(sysfs: Sysfs, entry: string): readonly string[] {
  const [, subsystem] = /\/nvme-subsystem\/([^/]+)\//.exec(sysfs.linkTarget(entry) ?? '') ?? [];
  const controllers = subsystem
    ? (sysfs.list(`class/nvme-subsystem/${subsystem}`) ?? []).filter((each) =>
        /^nvme\d+$/.test(each),
      )
    : [];
  const owners = controllers.map((each) => findOwner(sysfs, `class/nvme/${each}`));
  return [...owners, findOwner(sysfs, entry)].filter((owner) => owner !== undefined);
}

/**
 * @param mountTables the text of mountinfo in each mount namespace of the host
 * @returns why the uses are not known; undefined if they are
 */
export function noteBlockUses(
  { sysfs, proc }: { readonly sysfs: Sysfs; readonly proc: Proc },
  blocks: Blocks,
  mountTables: readonly string[],
  note: Note,
): string | undefined {
  const noteAll = (block: string, use: Parameters<Note>[1]) => {
    for (const address of blocks.get(block) ?? []) note(address, use);
  };
  for (const { block, at } of readMounts(sysfs, blocks, mountTables)) {
    noteAll(block, { kind: 'mount', block, at });
  }
  for (const name of sysfs.list('fs/btrfs') ?? []) {
    for (const block of sysfs.list(`fs/btrfs/${name}/devices`) ?? []) {
      noteAll(block, { kind: 'file-system', block, name: `btrfs ${name}` });
    }
  }
  for (const block of blocks.keys()) {
    for (const holder of sysfs.list(`class/block/${block}/holders`) ?? []) {
      const name = sysfs.readAttribute(`class/block/${holder}/dm/name`);
      noteAll(block, { kind: 'member', block, holder: name ? `${holder} (${name})` : holder });
    }
  }
  for (const { block, holder } of readLoops(sysfs)) {
    noteAll(block, { kind: 'member', block, holder });
  }
  const exports = readExports(sysfs, proc);
  for (const { block, by } of exports) {
    noteAll(block, { kind: 'export', block, by });
    for (const address of readController(sysfs, block))
      note(address, { kind: 'export', block, by });
  }
  const swaps = readSwaps(proc);
  for (const block of swaps ?? []) noteAll(block, { kind: 'swap', block });
  if (mountTables.length === 0) return 'the mounts of the host cannot be read';
  // A link that leads nowhere; other paths, such as those of volumes, have their holders.
  const unnamed = exports.find(({ path }) => path.startsWith('/dev/disk/'));
  if (unnamed) return `${unnamed.by} exports ${unnamed.path}, which is no name of a disk`;
  return swaps ? undefined : 'the swap space of the host cannot be read';
}

/** The mounted ones of these block devices. */
export function* readMounts(
  sysfs: Sysfs,
  blocks: Pick<Blocks, 'keys' | 'has'>,
  mountTables: readonly string[],
) {
  const numbers = new Map<string, string>();
  for (const name of blocks.keys()) {
    const number = sysfs.readAttribute(`class/block/${name}/dev`);
    if (number) numbers.set(number, name);
  }
  for (const line of mountTables.flatMap((table) => table.split('\n'))) {
    const fields = line.split(' ');
    const [, , number = '', , at = ''] = fields;
    if (!number) continue;
    const source = fields[fields.indexOf('-', 6) + 2] ?? '';
    // Some file systems (btrfs) have a number of their own; their source names the device.
    const block = numbers.get(number) ?? nodeName(unescaped(source));
    if (blocks.has(block)) yield { block, at: unescaped(at) };
  }
}

/** Names of block devices; undefined if they cannot be read. */
export function readSwaps(proc: Proc): string[] | undefined {
  const lines = proc.read('swaps')?.split('\n').slice(1);
  return lines?.map((line) => nodeName(unescaped(line.split(/\s/)[0] ?? '')));
}

function nodeName(path: string): string {
  return path.startsWith('/dev/') ? path.slice('/dev/'.length) : '';
}

/** The kernel writes blanks and newlines as octal numbers. */
function unescaped(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

/** Loop devices claim no disk, and are no holder of it. */
function readLoops(sysfs: Sysfs): { readonly block: string; readonly holder: string }[] {
  const loops = (sysfs.list('class/block') ?? []).filter((name) => /^loop\d+$/.test(name));
  return loops.map((holder) => {
    const file = sysfs.readAttribute(`class/block/${holder}/loop/backing_file`) ?? '';
    return { block: nodeName(file.trim()), holder };
  });
}

/** The functions of an NVMe controller that is exported as a whole. */
function readController(sysfs: Sysfs, name: string): readonly string[] {
  return /^nvme\d+$/.test(name) ? findCarriers(sysfs, `class/nvme/${name}`) : [];
}

interface DiskExport {
  /** The name of the disk; that of another node, such as a controller's, is none. */
  readonly block: string;
  /** Without links, as far as they can be read. */
  readonly path: string;
  readonly by: string;
}

/** Disks that the kernel gives to other hosts: targets of NVMe and of SCSI, in configfs. */
function readExports(sysfs: Sysfs, proc: Proc): DiskExport[] {
  const config = 'kernel/config';
  const list = (path: string) =>
    (sysfs.list(`${config}/${path}`) ?? []).map((name) => `${path}/${name}`);
  const targets = [
    ...list('nvmet/subsystems').flatMap((subsystem) =>
      [...list(`${subsystem}/namespaces`), `${subsystem}/passthru`].map((each) => ({
        by: 'the NVMe target',
        path: sysfs.readAttribute(`${config}/${each}/device_path`)?.trim(),
        isEnabled: sysfs.readAttribute(`${config}/${each}/enable`)?.trim() !== '0',
      })),
    ),
    // Also files and SCSI devices: their backstores open a disk without a claim.
    ...list('target/core')
      .flatMap(list)
      .map((each) => ({
        by: 'the SCSI target',
        path: sysfs.readAttribute(`${config}/${each}/udev_path`)?.trim(),
        isEnabled: true,
      })),
  ];
  return targets.flatMap(({ by, path: written, isEnabled }) => {
    if (!isEnabled || !written?.startsWith('/dev/')) return [];
    const path = followLinks(proc, written);
    return [{ block: blockOf(sysfs, nodeName(path)), path, by }];
  });
}

/** A link to a link to a node, and one more. */
const linksMax = 3;

/** The node that a path leads to in the host's /dev: the agent may have another one. */
function followLinks(proc: Proc, written: string): string {
  let path = posix.normalize(written);
  for (let links = 0; links < linksMax && path.startsWith('/dev/'); links += 1) {
    const target = proc.linkTarget(`1/root${path}`);
    if (target === undefined) break;
    path = posix.resolve(posix.dirname(path), target);
  }
  return path.startsWith('/dev/') ? path : written;
}

/** The kernel has a generic node of each SCSI device, besides the disk's. */
function blockOf(sysfs: Sysfs, name: string): string {
  if (!/^sg\d+$/.test(name)) return name;
  const [block = name] = sysfs.list(`class/scsi_generic/${name}/device/block`) ?? [];
  return block;
}

interface ClaimDeps {
  readonly sysfs: Sysfs;
  readonly proc: Proc;
  readonly hardware: Pick<Hardware, 'help' | 'isInstalled'>;
}

/**
 * Asks the kernel whether a disk, or a partition of it, is claimed. The question is itself a
 * claim, which lasts microseconds: a mount in that moment would fail. Where it cannot be asked, an
 * imported pool of ZFS refuses each disk with partitions: the kernel shows no holder of its parts.
 *
 * @param isUsed whether another use of the device is known, which makes the question needless
 * @returns why the claim of a disk is not known, by address
 */
export async function noteClaims(
  { sysfs, proc, hardware }: ClaimDeps,
  blocks: Blocks,
  note: Note,
  isUsed: (address: string) => boolean,
): Promise<ReadonlyMap<string, string>> {
  const problems = new Map<string, string>();
  const pool = importedPool(proc);
  for (const [disk, carriers] of blocks) {
    const isPart = sysfs.readAttribute(`class/block/${disk}/partition`) !== undefined;
    // A path of a namespace with several has no node of its own.
    if (isPart || /p\d+$|c\d+n\d+$/.test(disk) || carriers.every(isUsed)) continue;
    const claim = await askClaim(hardware, disk);
    if (claim === 'free') continue;
    for (const address of carriers) {
      if (claim === 'claimed') note(address, { kind: 'claimed', block: disk });
      else if (claim !== 'not asked') problems.set(address, claim.problem);
      else if (pool !== undefined) {
        const part = [...blocks.keys()].find((each) => partOf(each) === disk);
        if (part !== undefined) note(address, { kind: 'pool', pool, block: part });
      }
    }
  }
  return problems;
}

function partOf(name: string): string {
  return /\dp\d+$/.test(name) ? name.replace(/p\d+$/, '') : name.replace(/\d+$/, '');
}

async function askClaim(hardware: ClaimDeps['hardware'], disk: string) {
  if (!hardware.isInstalled()) return 'not asked';
  try {
    // Under a key of its own: an operation on the device must not be mistaken for a claim.
    await hardware.help(`disk ${disk}`, ['disk-claim', `/dev/${disk}`]);
    return 'free';
  } catch (error) {
    const code = error instanceof HardwareError ? error.code : 'EIO';
    if (code === 'EBUSY') return 'claimed';
    // Without the helper, with an older one, or without the node.
    if (code === 'ENOENT' || code === 'EINVAL') return 'not asked';
    return { problem: `${disk} cannot be opened (${code})` };
  }
}

/** OpenZFS shows each pool that is imported as a folder, beside its own counters. */
function importedPool(proc: Proc): string | undefined {
  const folder = 'spl/kstat/zfs';
  return proc.list(folder)?.find((name) => proc.list(`${folder}/${name}`) !== undefined);
}
