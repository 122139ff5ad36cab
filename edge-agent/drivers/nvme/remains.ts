// What erasing user data leaves on an NVMe controller: how its capacity is divided, and its boot
// partitions. Section numbers are those of the NVM Express Base Specification 1.4.

import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import { reasonOf } from '#agent/log.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import type { ControllerFacts } from './controllers.ts';
import type { Erasure } from './erase.ts';
import type { NvmeSettings } from './settings.ts';
import {
  bootPartitionBytes,
  bootPartitionSize,
  type Controller,
  identify,
  listNamespaces,
  readNamespace,
  run,
} from './tool.ts';

/** The controller may erase what it takes from a namespace. */
const commandMs = 10 * 60_000;
const allNamespaces = 0xffffffff;

/** One namespace of all the capacity, in place of those of the last holder (8.12). */
export async function resetNamespaces(
  erasure: Erasure,
  controller: Controller,
  setting: NvmeSettings['namespaces'],
): Promise<Evidence> {
  if (setting === 'keep') return { namespaces: 'not reset: kept' };
  // OACS bit 3 (5.15.2.2).
  if (!(controller.commands & 0x8)) {
    return { namespaces: 'not reset: the controller has no namespace management' };
  }
  const [first] = await listNamespaces(erasure);
  const { format } = first === undefined ? { format: 0 } : await readNamespace(erasure, first);
  const before = await listNamespaces(erasure, true);
  if (before.length > 0) {
    await run(erasure, commandMs, 'delete-ns', `--namespace-id=${allNamespaces}`);
  }
  const { unallocated, id } = await identify(erasure);
  const { blockSizes } = await readNamespace(erasure, allNamespaces);
  const blocks = Math.floor(unallocated / (blockSizes[format] ?? Number.NaN));
  if (!(blocks > 0)) throw new Error('The controller has no capacity for a namespace.');
  const size = [`--nsze=${blocks}`, `--ncap=${blocks}`, `--flbas=${format}`];
  await run(erasure, commandMs, 'create-ns', ...size);
  const [made, second] = await listNamespaces(erasure, true);
  if (made === undefined || second !== undefined) {
    throw new Error('The controller does not have exactly one namespace after its reset.');
  }
  await run(erasure, commandMs, 'attach-ns', `--namespace-id=${made}`, `--controllers=${id}`);
  const active = await listNamespaces(erasure);
  if (active.length !== 1 || active[0] !== made) {
    throw new Error(`Namespace ${made} is not attached after its reset.`);
  }
  return { namespaces: `reset: 1 in place of ${before.length}` };
}

/** CAP, upper half: bit 13 says that there are boot partitions (3.1.1). */
const capabilitiesAt = 4;
/** BPINFO: bits 14:0 are their size (3.1.13). */
const bootPartitionsAt = 0x40;

/**
 * Bytes of each boot partition, by the registers of a controller without a driver: many kernels
 * keep programs from the registers while a driver has them. Undefined if they cannot be read so;
 * nvme-cli may be able to.
 */
export async function readBootPartitionBytes(
  { hardware, log }: Pick<DriverContext, 'hardware' | 'log'>,
  { address, path }: PciFunction,
): Promise<number | undefined> {
  const register = async (offset: number) => {
    const text = await hardware.help(address, ['pci-read', address, String(offset)]);
    // Registers of a device that does not answer are all ones.
    if (!/^0x[0-9a-f]{8}$/.test(text) || text === '0xffffffff') throw new Error(`read ${text}`);
    return Number(text);
  };
  try {
    // Memory decoding is off without a driver.
    await hardware.writeText(address, `${path}/enable`, '1');
    try {
      if (!((await register(capabilitiesAt)) & 0x2000)) return 0;
      return bootPartitionSize(await register(bootPartitionsAt));
    } finally {
      await hardware.writeText(address, `${path}/enable`, '0');
    }
  } catch (error) {
    log.info('Registers not read by the helper', { address, reason: reasonOf(error) });
    return undefined;
  }
}

/** Why boot partitions could not be as the settings say after a holder, as a clause. */
export function bootRefusal(
  { commands, bootPartitionBytes: bytes }: NonNullable<ControllerFacts['erasure']>,
  setting: NvmeSettings['boot_partitions'],
  hasHelper: boolean,
): string | undefined {
  if (setting === 'keep' || bytes === 0) return undefined;
  if (bytes === undefined) {
    if (hasHelper) return undefined;
    return "does not show its boot partitions: install the agent's helper, or set boot_partitions to keep";
  }
  if (setting === 'refuse') return 'has boot partitions: set boot_partitions to zero, or to keep';
  // OACS bit 2: Firmware Commit and Firmware Image Download (5.15.2.2).
  if (commands & 0x4) return undefined;
  return 'has boot partitions that cannot be written: set boot_partitions to keep';
}

/** A controller has none, or two (8.13). */
const bootPartitions = [0, 1] as const;

/**
 * Neither Sanitize nor Format reaches boot partitions. A holder may have left code there, which
 * the firmware of a later holder's server would start.
 *
 * @throws a sentence if a holder's code may still be there, unless the settings allow it
 */
export async function resetBootPartitions(
  erasure: Erasure,
  setting: NvmeSettings['boot_partitions'],
  { directory, read }: { readonly directory: string; readonly read: number | undefined },
): Promise<Evidence> {
  if (setting === 'keep') return { boot_partitions: 'not reset: kept' };
  const bytes = read ?? (await bootPartitionBytes(erasure));
  if (bytes === 0) return { boot_partitions: 'none' };
  if (setting === 'refuse') throw new Error('The controller has boot partitions.');
  const image = await zeros(directory, bytes);
  for (const id of bootPartitions) {
    await run(erasure, commandMs, 'fw-download', `--fw=${image}`);
    // Commit action 110b: the image replaces the boot partition (5.11). A partition that is locked
    // refuses it with Boot Partition Write Prohibited, 11Eh.
    await run(erasure, commandMs, 'fw-commit', '--slot=0', '--action=6', `--bpid=${id}`);
  }
  return { boot_partitions: `zeroed: 2 of ${bytes} bytes, not read back` };
}

/** A file without blocks on the disk. */
async function zeros(directory: string, bytes: number): Promise<string> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, 'zeros');
  const file = await open(path, 'w', 0o600);
  try {
    await file.truncate(bytes);
  } finally {
    await file.close();
  }
  return path;
}
