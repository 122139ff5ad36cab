import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkImage, ImageRefused } from '#agent/images/image-check.ts';
import { aFunction, aGbs, fakeInterface } from '#test/support/hosts/gbs.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const directory = directoryPerTest();

function check(bytes: Buffer, interfaceUuid = fakeInterface) {
  const path = join(directory, 'image');
  writeFileSync(path, bytes);
  return checkImage(path, interfaceUuid);
}

describe('an image', () => {
  it('for the region is accepted, with its function', async () => {
    const image = { interfaceUuid: fakeInterface, functionUuid: aFunction };
    expect(await check(aGbs())).toMatchObject(image);
    // The byte order of the kernel's compat_id of a region.
    expect(await check(aGbs(), fakeInterface.replaceAll('-', '').toUpperCase())).toMatchObject(
      image,
    );
  });

  it('for another interface is refused', async () => {
    const interfaceUuid = '00000000-6c92-5a68-aabc-a7d84c545738';
    await expect(check(aGbs({ interfaceUuid }))).rejects.toThrow(ImageRefused);
  });

  it('that ends before its bitstream is refused', async () => {
    const whole = aGbs({ bitstream: '' });
    for (let length = 0; length <= whole.length; length += 1) {
      await expect(check(whole.subarray(0, length)), `${length}`).rejects.toThrow(ImageRefused);
    }
  });

  it('with one changed bit in its first bytes is refused', async () => {
    for (let at = 0; at < 16; at += 1) {
      const bytes = aGbs();
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      await expect(check(bytes)).rejects.toThrow('not a GBS file');
    }
  });

  it.each([0, 0xffffffff, 65_537, 10])('that claims %i bytes of metadata is refused', async (n) => {
    const bytes = aGbs();
    bytes.writeUInt32LE(n, 16);
    await expect(check(bytes)).rejects.toThrow(ImageRefused);
  });

  it.each(['{}', '[]', 'null', '{"version":1,"afu-image":{"interface-uuid":"../x"}}', '\0'])(
    'with metadata %j is refused',
    async (metadata) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(metadata.length);
      const head = Buffer.concat([aGbs().subarray(0, 16), length]);
      const bytes = Buffer.concat([head, Buffer.from(`${metadata}bits`)]);
      await expect(check(bytes)).rejects.toThrow('metadata cannot be read');
    },
  );

  it('with several clusters has the function of each, the first one first', async () => {
    const other = '11111111-2222-4333-8444-555555555555';
    const { functionUuids } = await check(aGbs({ others: [other, aFunction] }));
    expect(functionUuids).toEqual([aFunction, other]);
  });

  it('has its bitstream behind header and metadata', async () => {
    const bytes = aGbs({ bitstream: 'bits' });
    expect((await check(bytes)).bitstreamAt).toBe(bytes.length - 4);
  });

  it.each([
    [{}, []],
    [{ 'clock-frequency-high': 0, 'clock-frequency-low': 0 }, []],
    [{ 'clock-frequency-high': 312.5, 'clock-frequency-low': 156.25 }, [312.5, 156.25]],
    [{ 'clock-frequency-high': 200 }, [200, 0]],
  ])('with clocks %j needs %j', async (keys, clocks) => {
    expect((await check(aGbs({ keys }))).userClocks).toEqual(clocks);
  });

  it.each([
    [{ 'clock-frequency-low': 'auto-200' }, 'not a number of MHz'],
    [{ 'clock-frequency-high': -1 }, 'metadata cannot be read'],
    [{ 'magic-no': 1 }, 'metadata cannot be read'],
  ])('with %j in its metadata is refused', async (keys, reason) => {
    await expect(check(aGbs({ keys }))).rejects.toThrow(reason);
  });

  it.each([
    [0, 'a static region'],
    [1, 'firmware of the board controller'],
    [2, 'a GBS file'],
    [0x0102, 'a GBS file'],
    [77, 'another content'],
  ])('that is signed, of content %i, is refused as one for fpgasupdate', async (kind, what) => {
    const block = Buffer.alloc(1024);
    block.writeUInt32LE(0xb6eafd19, 0);
    block.writeUInt32LE(kind, 8);
    const refused = expect(check(Buffer.concat([block, aGbs()]))).rejects;
    await refused.toThrow(`signed for a secure update (${what}), which an operator loads by`);
  });
});
