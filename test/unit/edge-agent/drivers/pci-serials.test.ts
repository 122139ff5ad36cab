import { describe, expect, it } from 'vitest';
import { configLengths, createSerials, parseSerial } from '#agent/drivers/pci/naming/serials.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { aPciFunction } from '#test/support/hosts/agent.ts';

const serial = [0x01, 0x00, 0x00, 0xff, 0xff, 0x17, 0x15, 0x00];

/** Configuration space with capabilities: [id, where the next one is, what it holds]. */
function aConfig(...capabilities: [at: number, id: number, next: number, bytes?: number[]][]) {
  const config = Buffer.alloc(4096);
  for (const [at, id, next, bytes = []] of capabilities) {
    config.writeUInt32LE(((next << 20) | (1 << 16) | id) >>> 0, at);
    Buffer.from(bytes).copy(config, at + 4);
  }
  return config;
}

describe('the serial number of a PCI device', () => {
  it('is read as lspci writes it, from the highest byte on', () => {
    const config = aConfig([0x100, 0x0001, 0x140], [0x140, 0x0003, 0, serial]);
    expect(parseSerial(config)).toBe('00-15-17-ff-ff-00-00-01');
  });

  it.each<[string, Buffer]>([
    ['no extended capabilities', Buffer.alloc(4096)],
    ['a device that does not answer', Buffer.alloc(4096, 0xff)],
    ['conventional PCI', Buffer.alloc(256)],
    ['what others than root may read', Buffer.alloc(64)],
    ['no serial number', aConfig([0x100, 0x0001, 0])],
    ['a loop', aConfig([0x100, 0x0001, 0x140], [0x140, 0x000b, 0x100])],
    ['a pointer beyond the end', aConfig([0x100, 0x0001, 0xffc])],
    ['a serial number of zeros', aConfig([0x100, 0x0003, 0])],
    ['a serial number of ones', aConfig([0x100, 0x0003, 0, Array(8).fill(0xff)])],
  ])('is absent with %s', (_what, config) => {
    expect(parseSerial(config)).toBeUndefined();
  });
});

describe('serial numbers', () => {
  const card = aPciFunction({ address: '0000:3b:00.0' });
  const second = aPciFunction({ address: '0000:3b:00.1' });

  function serialsOf(reads: Record<string, Buffer | HardwareError>) {
    const asked: string[][] = [];
    const readStarts: Hardware['readStarts'] = async (files, lengths) => {
      expect(lengths).toEqual(configLengths);
      asked.push(files.map(({ device }) => device));
      return files.map(({ device }) => reads[device] ?? new HardwareError('ENOENT', 'absent'));
    };
    return { asked, ...createSerials({ readStarts } as Hardware) };
  }
  const config = aConfig([0x100, 0x0003, 0, serial]);

  it('differ for the functions of one card', async () => {
    const { read } = serialsOf({ [card.address]: config, [second.address]: config });
    expect([...(await read([card, second])).values()]).toEqual([
      '00-15-17-ff-ff-00-00-01.0',
      '00-15-17-ff-ff-00-00-01.1',
    ]);
  });

  it('are read once while the device stays, and again after it was away', async () => {
    const { read, asked } = serialsOf({ [card.address]: config });
    for (const functions of [[card], [card], [], [card]]) await read(functions);
    expect(asked).toEqual([[card.address], [card.address]]);
  });

  it('are read again of another card in the slot, and of a device that was not readable', async () => {
    const reads: Record<string, Buffer | HardwareError> = { [card.address]: config };
    const { read, asked } = serialsOf(reads);
    await read([card, second]);
    reads[second.address] = config;
    const other = { ...card, productId: '26b9' };
    expect((await read([other, second])).size).toBe(2);
    expect(asked).toEqual([
      [card.address, second.address],
      [card.address, second.address],
    ]);
  });
});
