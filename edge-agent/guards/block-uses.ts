// Which devices hold file systems, swap or parts of volumes of the host.

import type { Sysfs } from '#agent/sysfs/root.ts';
import { findOwner } from './owner.ts';
import type { Proc } from './proc.ts';
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
  const swaps = readSwaps(proc);
  for (const block of swaps ?? []) noteAll(block, { kind: 'swap', block });
  if (mountTables.length === 0) return 'the mounts of the host cannot be read';
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
