// Reads the head of a GBS file, Intel's form of an image for one region of an FPGA, and says
// whether it is one and for which interface:
//
//   16 bytes   GUID 58656F6E-4650-4741-B747-425376303031 ("XeonFPGA", 0xB7, "GBSv001")
//    4 bytes   length of the metadata, little endian
//    n bytes   metadata, JSON
//   the rest   the bitstream
//
// https://github.com/OFS/opae-sdk: python/packager, libraries/libbitstream. An image that is
// signed for a card with secure update begins with another block (fpgasupdate.py, Block 0).

import { open } from 'node:fs/promises';
import * as z from 'zod';
import { parseJson } from '#core/shapes/derive/parse-json.ts';

const magic = Buffer.from('58656F6E46504741B747425376303031', 'hex');
const headBytes = magic.length + 4;
/** Real metadata has a few hundred bytes. */
const metadataBytesMax = 64 * 1024;

/** In MHz. The packager replaces `auto`; without the key, or with 0, the image needs no clock. */
const clock = z.union([z.number().min(0).max(2000), z.string().max(32)]).default(0);

const metadata = z.object({
  version: z.number(),
  'afu-image': z.object({
    'magic-no': z.literal(488605312).optional(),
    'clock-frequency-high': clock,
    'clock-frequency-low': clock,
    'interface-uuid': z.guid(),
    'accelerator-clusters': z
      .array(z.object({ 'accelerator-type-uuid': z.guid() }))
      .min(1)
      .max(64),
  }),
});

/** Uuids are lower case, with hyphens. */
export interface GbsImage {
  /** The interface of the regions that the image fits. */
  readonly interfaceUuid: string;
  /** The function of the region after programming. */
  readonly functionUuid: string;
  /** One for each cluster of accelerators, the one above first. */
  readonly functionUuids: readonly string[];
  /** In MHz, high and low; empty if the image needs no clock of its own. */
  readonly userClocks: readonly number[];
  /** Where the bitstream begins in the file. */
  readonly bitstreamAt: number;
}

/** The image must not be written to this region; the message says why. */
export class ImageRefused extends Error {
  override readonly name = 'ImageRefused';
}

/** @throws ImageRefused */
export async function readGbs(path: string): Promise<GbsImage> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const head = Buffer.alloc(headBytes);
    const { bytesRead } = await file.read(head, 0, headBytes, 0);
    if (bytesRead < headBytes) throw new ImageRefused('The image ends within its header.');
    if (head.readUInt32LE(0) === signedMagic) throw new ImageRefused(signedReason(head));
    if (!head.subarray(0, magic.length).equals(magic)) {
      throw new ImageRefused('The image is not a GBS file.');
    }
    const length = head.readUInt32LE(magic.length);
    if (length > metadataBytesMax) {
      throw new ImageRefused(`The image claims ${length} bytes of metadata.`);
    }
    // A file that ends with its metadata has no bitstream.
    if (headBytes + length >= size) throw new ImageRefused('The image ends before its bitstream.');
    const text = Buffer.alloc(length);
    await file.read(text, 0, length, headBytes);
    return { ...toImage(text.toString()), bitstreamAt: headBytes + length };
  } finally {
    await file.close();
  }
}

/**
 * @param interfaceUuid the region's interface, with hyphens or, as the kernel prints it, without
 * @throws ImageRefused unless the header is valid and the image is made for the interface
 */
export async function checkImage(path: string, interfaceUuid: string): Promise<GbsImage> {
  const image = await readGbs(path);
  if (plain(image.interfaceUuid) !== plain(interfaceUuid)) {
    throw new ImageRefused(
      `The image is for interface ${image.interfaceUuid}, the region has ${interfaceUuid}.`,
    );
  }
  return image;
}

/** Block 0 of PACSign: magic, length, and the kind of the content in the low byte of a word. */
const signedMagic = 0xb6eafd19;
const signedContents = ['a static region', 'firmware of the board controller', 'a GBS file'];

function signedReason(head: Buffer): string {
  const content = signedContents[head.readUInt32LE(8) & 0xff] ?? 'another content';
  return (
    `The image is signed for a secure update (${content}), which an operator loads by ` +
    'fpgasupdate: a region takes an unsigned GBS file.'
  );
}

function toImage(text: string): Omit<GbsImage, 'bitstreamAt'> {
  const afu = parseAfu(text);
  const clusters = afu['accelerator-clusters'];
  const [functionUuid, ...others] = clusters.map((each) =>
    each['accelerator-type-uuid'].toLowerCase(),
  );
  if (!functionUuid) throw new ImageRefused('The image has no accelerator.');
  return {
    interfaceUuid: afu['interface-uuid'].toLowerCase(),
    functionUuid,
    functionUuids: [...new Set([functionUuid, ...others])],
    userClocks: toClocks([afu['clock-frequency-high'], afu['clock-frequency-low']]),
  };
}

function toClocks(values: readonly (number | string)[]): number[] {
  const clocks = values.flatMap((each) => (typeof each === 'number' ? each : []));
  if (clocks.length < values.length) {
    throw new ImageRefused('The image has a user clock that is not a number of MHz.');
  }
  return clocks.some((each) => each > 0) ? clocks : [];
}

function parseAfu(text: string) {
  const read = metadata.safeParse(parseJson(text));
  if (read.success) return read.data['afu-image'];
  throw new ImageRefused("The image's metadata cannot be read.");
}

function plain(uuid: string): string {
  return uuid.replaceAll('-', '').toLowerCase();
}
