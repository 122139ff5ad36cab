// Reads the head of an xclbin file (version 2), AMD's form of an image for an Alveo card, and
// says whether it is whole, for which platform and for which interface:
//
//     8 bytes   "xclbin2", 0
//     4 bytes   length of the signature at the end, or -1
//   304         header: length of the file, mode, interface, platform, uuid, number of sections
//   456         section headers of 40 bytes: kind, name, offset, size
//
// Numbers are little endian. https://github.com/Xilinx/XRT, core/include/xrt/detail/xclbin.h

import { type FileHandle, open } from 'node:fs/promises';
import { parseInterfaces } from './device-tree.ts';
import { ImageRefused } from './image-check.ts';

const magic = Buffer.from('xclbin2\0', 'latin1');
const headBytes = 456;
const sectionBytes = 40;
/** Real images have some twenty. */
const sectionsMax = 1024;
const metadataBytesMax = 1024 * 1024;
/** Kinds of sections: a bitstream, and what Versal cards have in its place. */
const bitstreams: ReadonlySet<number> = new Set([0, 18, 19]);
/** The contents of a card's flash: MCS, those of Versal cards, and ASK_FLASH. */
const flashes: ReadonlySet<number> = new Set([12, 18, 24]);
const partitionMetadata = 20;
/** Modes from 4 on are for emulators. */
const modeMax = 3;

/** Uuids are lower case with hyphens; interfaces without, as the kernel's drivers print them. */
export interface Xclbin {
  readonly uuid: string;
  /** That the image needs, all of them. */
  readonly interfaces: readonly string[];
  /** `xilinx_u250_gen3x16_xdma_shell_4_1`: vendor, board, name, version. */
  readonly platform: string;
}

interface Section {
  readonly kind: number;
  readonly offset: number;
  readonly size: number;
}

/** @throws ImageRefused */
export async function readXclbin(path: string): Promise<Xclbin> {
  return await readHead(path, async (file, head, size) => {
    const sections = await readSections(file, head, size);
    checkHas(sections, bitstreams, 'bitstream');
    return { ...toImage(head), interfaces: await neededBy(file, head, sections) };
  });
}

/**
 * The platform of a base image, which is for the flash of a card (AMD's xsabin file).
 *
 * @throws ImageRefused
 */
export async function readBaseImage(path: string): Promise<string> {
  return await readHead(path, async (file, head, size) => {
    checkHas(await readSections(file, head, size), flashes, 'contents for the flash of a card');
    return toImage(head).platform;
  });
}

async function readHead<T>(
  path: string,
  use: (file: FileHandle, head: Buffer, size: number) => Promise<T>,
): Promise<T> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const head = await bytesAt(file, 0, headBytes, 'its header');
    if (!head.subarray(0, magic.length).equals(magic)) {
      throw new ImageRefused('The image is not an xclbin file of version 2.');
    }
    const length = numberAt(head, 304);
    if (length !== size) {
      throw new ImageRefused(`The image has ${size} bytes, and its header says ${length}.`);
    }
    return await use(file, head, size);
  } finally {
    await file.close();
  }
}

/** @throws ImageRefused unless the image is whole and made for the interface */
export async function checkXclbin(path: string, interfaceUuid: string): Promise<Xclbin> {
  const image = await readXclbin(path);
  if (!image.interfaces.includes(plainUuid(interfaceUuid))) {
    const [first = 'none'] = image.interfaces;
    throw new ImageRefused(`The image is for interface ${first}, the region has ${interfaceUuid}.`);
  }
  return image;
}

export function plainUuid(uuid: string): string {
  return uuid.replaceAll('-', '').toLowerCase();
}

/** With hyphens. */
export function shownUuid(plain: string): string {
  return plain.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function toImage(head: Buffer): Omit<Xclbin, 'interfaces'> {
  const mode = head.readUInt16LE(332);
  if (mode > modeMax) throw new ImageRefused('The image is for an emulator.');
  const text = head.toString('latin1', 352, 416);
  const platform = text.slice(0, Math.max(0, text.indexOf('\0')));
  if (!/^[!-~]{1,63}$/.test(platform)) {
    throw new ImageRefused('The image names no platform.');
  }
  const uuid = head.toString('hex', 416, 432);
  if (/^0+$/.test(uuid)) throw new ImageRefused('The image has no uuid.');
  return { platform, uuid: shownUuid(uuid) };
}

async function readSections(file: FileHandle, head: Buffer, size: number): Promise<Section[]> {
  const count = head.readUInt32LE(448);
  if (count === 0 || count > sectionsMax) {
    throw new ImageRefused(`The image claims ${count} sections.`);
  }
  const from = headBytes + count * sectionBytes;
  const table = await bytesAt(file, headBytes, count * sectionBytes, 'its section headers');
  const signature = Math.max(0, head.readInt32LE(8));
  const sections = Array.from({ length: count }, (_, index) => {
    const at = index * sectionBytes;
    const [offset, bytes] = [numberAt(table, at + 24), numberAt(table, at + 32)];
    return { kind: table.readUInt32LE(at), offset, size: bytes };
  });
  for (const { kind, offset, size: bytes } of sections) {
    if (bytes === 0) continue;
    if (offset < from || offset + bytes > size - signature) {
      throw new ImageRefused(`Section ${kind} of the image is outside of it.`);
    }
  }
  return sections;
}

function checkHas(sections: readonly Section[], kinds: ReadonlySet<number>, what: string): void {
  if (sections.some((each) => kinds.has(each.kind) && each.size > 0)) return;
  throw new ImageRefused(`The image has no ${what}.`);
}

/** Interfaces in the header, and in the device tree that describes the partition. */
async function neededBy(
  file: FileHandle,
  head: Buffer,
  sections: readonly Section[],
): Promise<string[]> {
  const interfaceId = head.toString('hex', 336, 352);
  const needed = /^0+$/.test(interfaceId) ? [] : [interfaceId];
  // Sections may overlap: a limit of each alone would not bound the work.
  const total = sections
    .filter(({ kind }) => kind === partitionMetadata)
    .reduce((sum, { size }) => sum + size, 0);
  if (total > metadataBytesMax) {
    throw new ImageRefused(`The image claims ${total} bytes of partition metadata.`);
  }
  for (const { kind, offset, size } of sections) {
    if (kind !== partitionMetadata || size === 0) continue;
    const tree = parseInterfaces(await bytesAt(file, offset, size, 'its partition metadata'));
    if (!tree) throw new ImageRefused("The image's partition metadata cannot be read.");
    needed.push(...tree.map(plainUuid));
  }
  if (needed.length === 0) throw new ImageRefused('The image names no interface.');
  return [...new Set(needed)];
}

async function bytesAt(file: FileHandle, at: number, count: number, part: string): Promise<Buffer> {
  const bytes = Buffer.alloc(count);
  const { bytesRead } = await file.read(bytes, 0, count, at);
  if (bytesRead < count) throw new ImageRefused(`The image ends within ${part}.`);
  return bytes;
}

/** A length above 2^53 is none of a file. */
function numberAt(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64LE(at));
}
