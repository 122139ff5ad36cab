import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseInterfaces } from '#agent/images/device-tree.ts';
import { ImageRefused } from '#agent/images/image-check.ts';
import { checkXclbin, readXclbin, shownUuid } from '#agent/images/xclbin.ts';
import {
  aDeviceTree,
  anXclbin,
  imageUuid,
  shellInterface,
  shellPlatform,
} from '#test/drivers/xilinx-fpga/xclbin.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';

const folder = directoryPerFile();
const path = join(folder, 'image.xclbin');

function read(bytes: Buffer) {
  writeFileSync(path, bytes);
  return readXclbin(path);
}

/** The image with some bytes changed. */
function changed(change: (bytes: Buffer) => void): Buffer {
  const bytes = anXclbin();
  change(bytes);
  return bytes;
}

const other = 'ffffffff000040008000000000000001';

/** Properties with the name at 0, in strings of that many bytes without an end. */
function aTreeOfLongNames(properties: number, nameBytes: number): Buffer {
  const words = [1, 0, ...Array.from({ length: properties }, () => [3, 0, 0]).flat(), 2, 9];
  const struct = Buffer.alloc(words.length * 4);
  for (const [index, word] of words.entries()) struct.writeUInt32BE(word, index * 4);
  const strings = Buffer.concat([Buffer.alloc(nameBytes, 0x61), Buffer.alloc(1)]);
  const head = Buffer.alloc(40);
  for (const [at, word] of [
    [0, 0xd00dfeed],
    [4, 40 + struct.length + strings.length],
    [8, 40],
    [12, 40 + struct.length],
    [32, strings.length],
  ] as const) {
    head.writeUInt32BE(word, at);
  }
  return Buffer.concat([head, struct, strings]);
}

describe('partition metadata that is made to keep the agent busy', () => {
  it('is read in time linear to its length', () => {
    const tree = aTreeOfLongNames(40_000, 512 * 1024);
    const began = performance.now();
    expect(parseInterfaces(tree)).toEqual([]);
    expect(performance.now() - began).toBeLessThan(1_000);
  });

  it('is refused where several sections together are too long', async () => {
    const image = changedSections(600, 4096);
    await expect(read(image)).rejects.toThrow('claims 2457600 bytes of partition metadata');
  });
});

/** Many sections of metadata at one place, behind the bitstream. */
function changedSections(count: number, size: number): Buffer {
  const tree = Buffer.concat([aDeviceTree([shellInterface])], size);
  const whole = anXclbin();
  const head = Buffer.alloc(456 + (count + 1) * 40);
  whole.copy(head, 0, 0, 456);
  head.writeUInt32LE(count + 1, 448);
  for (let index = 0; index <= count; index += 1) {
    const at = 456 + index * 40;
    head.writeUInt32LE(index === 0 ? 0 : 20, at);
    head.writeBigUInt64LE(BigInt(head.length), at + 24);
    head.writeBigUInt64LE(BigInt(size), at + 32);
  }
  head.writeBigUInt64LE(BigInt(head.length + size), 304);
  return Buffer.concat([head, tree]);
}

describe('an xclbin file', () => {
  it('tells its uuid, its platform and the interfaces that it needs', async () => {
    expect(await read(anXclbin())).toEqual({
      uuid: imageUuid,
      platform: shellPlatform,
      interfaces: [shellInterface],
    });
    const both = anXclbin({ metadata: [shellInterface, shownUuid(other)] });
    expect((await read(both)).interfaces).toEqual([shellInterface, other]);
    const none = anXclbin({ interfaceUuid: '0'.repeat(32), metadata: [other] });
    expect((await read(none)).interfaces).toEqual([other]);
  });

  it('may be signed, and may have a PDI of a Versal card in place of a bitstream', async () => {
    expect((await read(anXclbin({ signature: 512 }))).uuid).toBe(imageUuid);
    expect((await read(anXclbin({ kind: 18 }))).uuid).toBe(imageUuid);
  });

  it('is checked for the interface of a region, in either spelling', async () => {
    writeFileSync(path, anXclbin());
    expect((await checkXclbin(path, shownUuid(shellInterface).toUpperCase())).uuid).toBe(imageUuid);
    await expect(checkXclbin(path, shownUuid(other))).rejects.toThrow(
      `The image is for interface ${shellInterface}, the region has ${shownUuid(other)}.`,
    );
  });

  it('is refused at each length below its own', async () => {
    const whole = anXclbin({ metadata: [shellInterface] });
    // In its header, its section headers, its bitstream, its metadata, and before its last byte.
    for (const length of [0, 7, 8, 303, 455, 456, 500, 575, 576, 2000, 4688, whole.length - 1]) {
      await expect(read(whole.subarray(0, length)), String(length)).rejects.toThrow(ImageRefused);
    }
    await expect(read(Buffer.concat([whole, Buffer.from('x')]))).rejects.toThrow(
      `The image has ${whole.length + 1} bytes, and its header says ${whole.length}.`,
    );
  });

  it.each([
    ['is not an xclbin file', (bytes) => bytes.write('xclbin1\0', 0)],
    ['is for an emulator', (bytes) => bytes.writeUInt16LE(4, 332)],
    ['names no platform', (bytes) => bytes.fill(0, 352, 416)],
    ['names no platform', (bytes) => bytes.fill(0x41, 352, 416)],
    ['has no uuid', (bytes) => bytes.fill(0, 416, 432)],
    ['names no interface', (bytes) => bytes.fill(0, 336, 352)],
    ['claims 0 sections', (bytes) => bytes.writeUInt32LE(0, 448)],
    ['claims 4294967295 sections', (bytes) => bytes.writeUInt32LE(0xffffffff, 448)],
    ['ends within its section headers', (bytes) => bytes.writeUInt32LE(1000, 448)],
    ['Section 0 of the image is outside', (bytes) => bytes.writeBigUInt64LE(8n, 456 + 24)],
    ['Section 2 of the image is outside', (bytes) => bytes.writeBigUInt64LE(2n ** 63n, 496 + 32)],
    ['Section 0 of the image is outside', (bytes) => bytes.writeInt32LE(64, 8)],
    ['has no bitstream', (bytes) => bytes.writeUInt32LE(6, 456)],
  ] as const satisfies readonly (readonly [string, (bytes: Buffer) => unknown])[])(
    'that %s is refused',
    async (message, change) => {
      await expect(read(changed(change))).rejects.toThrow(message);
    },
  );

  it('is refused with partition metadata that is not a device tree', async () => {
    const bytes = anXclbin({ metadata: [other] });
    const at = bytes.indexOf(Buffer.from('d00dfeed', 'hex'));
    bytes.writeUInt32BE(0, at);
    await expect(read(bytes)).rejects.toThrow('partition metadata cannot be read');
  });
});

describe('a device tree', () => {
  it('tells its interfaces', () => {
    expect(parseInterfaces(aDeviceTree([]))).toEqual([]);
    expect(parseInterfaces(aDeviceTree([other, shellInterface]))).toEqual([other, shellInterface]);
  });

  it('is refused at each length below its own, and with an interface that is not a uuid', () => {
    const whole = aDeviceTree([other]);
    const structure = whole.readUInt32BE(12);
    for (let length = 0; length < structure; length += 1) {
      expect(parseInterfaces(whole.subarray(0, length)) ?? [], String(length)).toEqual([]);
    }
    expect(parseInterfaces(aDeviceTree(['../../etc/passwd']))).toBeUndefined();
    const endless = Buffer.from(whole);
    endless.writeUInt32BE(0xfffffff0, 40 + 8 + 8 + 4);
    expect(parseInterfaces(endless)).toBeUndefined();
  });
});
