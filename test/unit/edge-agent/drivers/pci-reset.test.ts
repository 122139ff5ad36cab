import { beforeEach, describe, expect, it } from 'vitest';
import { faultAfterReset } from '#agent/drivers/pci/reset.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const address = '0000:3b:00.0';
const host = perTest(aGuardedHost);
let path: string;

beforeEach(() => {
  host.tree.addFunction({ address, iommuGroup: 12, config: config() });
  path = host.tree.pathOf(address);
  host.tree.write(`${path}/current_link_speed`, '16.0 GT/s PCIe\n');
  host.tree.write(`${path}/current_link_width`, '16\n');
});

function config(given: { vendor?: number; command?: number; bar?: number } = {}): Buffer {
  const header = Buffer.alloc(256);
  header.writeUInt16LE(given.vendor ?? 0x10de, 0);
  header.writeUInt16LE(given.command ?? 0x0146, 4);
  header.writeUInt32LE(given.bar ?? 0xfa000000, 0x10);
  return header;
}

/** What the reset does to the function. */
async function clean(reset: () => void = () => {}) {
  const resetting: Hardware = {
    ...host.hardware,
    writeText: async (device, file, text, limitMs) => {
      await host.hardware.writeText(device, file, text, limitMs);
      reset();
    },
  };
  const driver = await host.pciDriver({ vendor_id: '10de', clean: 'reset' }, resetting);
  const info = { domain: '0000', bus: '3b', device: '00', function: '0' };
  return await driver.clean?.({ address, uuid: 'u', type: 'PCI', info }, () => {});
}

describe('cleaning by a reset', () => {
  it('resets the function and answers what was read after it', async () => {
    expect(await clean()).toEqual({
      cleaned_by: 'reset',
      reset_method: 'flr',
      reset_rung: 'function',
      vendor_id: '0x10de',
      command: '0x0146',
      bars: '000000fa0000000000000000000000000000000000000000',
      link: '16.0 GT/s PCIe x16',
    });
    expect(host.sysfs.readAttribute(`${path}/reset`)).toBe('1');
  });

  it('of conventional PCI has no link to compare', async () => {
    host.tree.write(`${path}/current_link_speed`, 'Unknown\n');
    expect(await clean()).not.toHaveProperty('link');
  });

  it.each([
    ['fell off the bus', () => config({ vendor: 0xffff })],
    ['fell off the bus', () => Buffer.alloc(256, 0xff)],
    ['base address registers have changed', () => config({ bar: 0 })],
    ['command register has changed', () => config({ command: 0 })],
  ])('fails if the function %s', async (reason, after) => {
    await expect(clean(() => host.tree.write(`${path}/config`, after()))).rejects.toThrow(reason);
  });

  it('fails if the link is narrower or slower than before', async () => {
    const narrow = clean(() => host.tree.write(`${path}/current_link_width`, '8\n'));
    await expect(narrow).rejects.toThrow('its link is 16.0 GT/s PCIe x8 and was 16.0');
  });

  it('fails without a reset while a process has the function open', async () => {
    host.proc.addProcess(31, { comm: 'qemu', open: ['/dev/vfio/12'] });
    await expect(clean()).rejects.toThrow(
      'The device at 0000:3b:00.0 is open: process 31 (qemu) uses /dev/vfio/12.',
    );
    expect(host.sysfs.readAttribute(`${path}/reset`)).toBe('');
  });

  it("fails with the kernel's error", async () => {
    const refuse = () => {
      throw new HardwareError('ENOTTY', 'no method worked');
    };
    await expect(clean(refuse)).rejects.toMatchObject({
      cause: { code: 'ENOTTY' },
    });
  });

  it('fails if the function is no longer there', async () => {
    host.tree.removeFunction(address);
    await expect(clean()).rejects.toThrow('0000:3b:00.0 is no longer there');
  });
});

describe('a virtual function', () => {
  const state = { vendorId: 0xffff, productId: 0xffff, command: 0x0406, bars: '00' };

  it('may have all ones for its ids', () => {
    expect(faultAfterReset(state, state, { isVirtual: true })).toBeUndefined();
    expect(faultAfterReset(state, state, { isVirtual: false })).toBe('it fell off the bus');
  });

  it('fell off the bus with all ones for its command', () => {
    const dead = { ...state, command: 0xffff };
    expect(faultAfterReset(dead, dead, { isVirtual: true })).toBe('it fell off the bus');
  });
});
