import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { Components } from '#agent/drivers/contract/driver.ts';
import { chooseSlot } from '#agent/drivers/nvme/firmware.ts';
import { address, NvmeHost, second } from '#test/drivers/nvme/host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const host = perTest(() => new NvmeHost());

async function start(): Promise<Components> {
  await host.start();
  const { components } = host.driver;
  if (!components) throw new Error('The driver has no components.');
  return components;
}

function anImage(content = '2.0\n', version = '2.0') {
  const imagePath = join(host.directory, 'images', 'abc.image');
  mkdirSync(dirname(imagePath), { recursive: true });
  writeFileSync(imagePath, content);
  return { address, component: 'firmware', imagePath, version };
}

/** @returns what the device shows afterwards */
async function program(verbs: Components, image = anImage()) {
  await verbs.check(image);
  await verbs.write(image, (percent) => host.percents.push(percent));
  const activation = await verbs.activate(image);
  return { activation, shown: await verbs.list(address) };
}
const running = (version: string) => [{ name: 'firmware', version }];

describe('a program of an NVMe device', () => {
  it('goes to an empty slot, and runs at once where the controller can', async () => {
    const verbs = await start();
    expect(await verbs.list(address)).toEqual(running('1.0'));
    expect(await program(verbs)).toEqual({ activation: 'active', shown: running('2.0') });
    const node = '/dev/nvme0';
    expect(host.changes()).toEqual([
      `fw-download ${node} --fw=${anImage().imagePath}`,
      `fw-commit ${node} --slot=2 --action=0`,
      `fw-commit ${node} --slot=2 --action=3`,
    ]);
    expect(host.percents).toEqual([0, 50, 100]);
    expect(host.kernel.driverOf(address)).toBe('vfio-pci');
    // What the agent has written is not what a holder has left.
    expect(await host.clean()).toMatchObject({ firmware: '2.0', firmware_unchanged: true });
    expect((await host.start())[address]?.firmware).toBe('2.0');
  });

  it('resets the controller where only a reset has it run', async () => {
    host.device.frmw = 0x06;
    const verbs = await start();
    expect(await program(verbs)).toEqual({ activation: 'active', shown: running('2.0') });
    expect(host.changes().slice(2)).toEqual([
      'fw-commit /dev/nvme0 --slot=2 --action=2',
      'reset /dev/nvme0',
    ]);
  });

  it('resets the controller where it asks for that in place of running it at once', async () => {
    host.device.needsReset = 'any controller';
    const verbs = await start();
    expect(await program(verbs)).toEqual({ activation: 'active', shown: running('2.0') });
    expect(host.changes().at(-1)).toBe('reset /dev/nvme0');
  });

  it.each(['conventional', 'subsystem'] as const)(
    'awaits a power cycle where the controller needs a %s reset, and shows it then',
    async (reset) => {
      host.device.needsReset = reset;
      const verbs = await start();
      expect(await program(verbs)).toEqual({ activation: 'power-cycle', shown: running('1.0') });
      expect(host.changes().at(-1)).toBe('fw-commit /dev/nvme0 --slot=2 --action=3');
      host.kernel.reboot();
      await host.start();
      expect(await host.driver.components?.list(address)).toEqual(running('1.0'));
      host.kernel.powerCycle();
      await host.start();
      expect(await host.driver.components?.list(address)).toEqual(running('2.0'));
      expect(await host.clean()).toMatchObject({ firmware: '2.0', firmware_unchanged: true });
    },
  );

  it('still finds other firmware than its own for that of a holder', async () => {
    host.device.needsReset = 'conventional';
    await program(await start());
    host.device.firmware = 'evil';
    host.kernel.reboot();
    await host.start();
    await expect(host.clean()).rejects.toThrow(`The firmware of ${address} is evil, and was 1.0.`);
  });

  it('fails if the slot then has another version, and activates nothing', async () => {
    const verbs = await start();
    await expect(verbs.write(anImage('1.9\n'), () => {})).rejects.toThrow(
      'Slot 2 has version 1.9, not 2.0.',
    );
    expect([host.device.firmware, host.device.nextSlot]).toEqual(['1.0', undefined]);
    expect(host.kernel.driverOf(address)).toBe('vfio-pci');
  });

  it("fails with the controller's words, and leaves the device on the VFIO driver", async () => {
    const verbs = await start();
    const image = anImage('not firmware\0\0\0\0');
    await expect(verbs.write(image, () => {})).rejects.toThrow(
      'nvme fw-commit failed with exit code 1: NVMe status: Invalid Firmware Image(0x107)',
    );
    expect(host.kernel.driverOf(address)).toBe('vfio-pci');
  });

  it('writes nothing while a process has the device open', async () => {
    const verbs = await start();
    host.host.openVfio(address);
    await expect(verbs.write(anImage(), () => {})).rejects.toThrow(`The device at ${address}`);
    expect(host.changes()).toEqual([]);
  });

  it('is refused before it where the only slot runs', async () => {
    host.device.frmw = 0x02;
    const verbs = await start();
    await expect(verbs.check(anImage())).rejects.toThrow(
      'The device has no firmware slot to write: it has 1, slot 1 runs.',
    );
    expect(host.changes()).toEqual([]);
    expect(host.kernel.driverOf(address)).toBe('vfio-pci');
  });

  it('is refused before it where the controller takes no firmware', async () => {
    host.device.oacs = 0x1a;
    const verbs = await start();
    await expect(verbs.check(anImage())).rejects.toThrow('takes no firmware');
  });

  it.each([
    ['', 'The image has 0 bytes'],
    ['2.0', 'The image has 3 bytes, which is not a multiple of four.'],
  ])('is refused before it with the image %j', async (content, sentence) => {
    const verbs = await start();
    await expect(verbs.check(anImage(content))).rejects.toThrow(sentence);
  });

  it('is refused for another component', async () => {
    const verbs = await start();
    await expect(verbs.check({ ...anImage(), component: 'bmc' })).rejects.toThrow(
      `The device at ${address} has no component bmc.`,
    );
  });
});

describe('the components of an NVMe device', () => {
  it('are listed without a read of other functions of the host', async () => {
    host.kernel.add({ address: second });
    const verbs = await start();
    const read = vi.spyOn(host.host.sysfs, 'readAttribute');
    expect(await verbs.list(address)).toEqual(running('1.0'));
    expect(read.mock.calls.map(([path]) => path)).toEqual([`bus/pci/devices/${address}/uevent`]);
  });

  it('are none while the device cannot be read', async () => {
    const verbs = await start();
    host.host.tree.write(`${host.host.tree.pathOf(address)}/uevent`, '?');
    expect(await verbs.list(address)).toEqual([]);
  });
});

describe('an agent that dies at a command of a program', () => {
  it.each([0x16, 0x06])('has the next one program the device (FRMW %i)', async (frmw) => {
    const verbs = await start();
    host.device.frmw = frmw;
    await program(verbs);
    const commands = host.kernel.ran.length;
    expect(commands).toBeGreaterThan(6);
    for (let at = 0; at < commands; at += 1) {
      const killed = new NvmeHost();
      killed.device.frmw = frmw;
      await killed.start();
      const { promise: died, resolve } = Promise.withResolvers<'died'>();
      let count = 0;
      killed.kernel.during = async () => {
        if (count++ < at) return;
        resolve('died');
        await new Promise(() => {});
      };
      const first = killed.driver.components;
      expect(await Promise.race([first && program(first), died])).toBe('died');
      killed.kernel.during = async () => {};
      await killed.start();
      const second = killed.driver.components;
      const end = { activation: 'active', shown: running('2.0') };
      expect(second && (await program(second))).toEqual(end);
      expect(killed.device.firmware).toBe('2.0');
      expect(await killed.clean()).toMatchObject({ firmware: '2.0', firmware_unchanged: true });
      killed.remove();
    }
  });
});

describe('the slot that is written', () => {
  const slots = (runs: number, all: Record<number, string>) => ({
    running: runs,
    revisions: new Map(Object.entries(all).map(([slot, text]) => [Number(slot), text])),
  });

  it.each([
    ['the first that is empty', 0x06, slots(1, { 1: '1.0' }), 2],
    ['the one that has the version already', 0x06, slots(1, { 1: '1.0', 3: '2.0' }), 3],
    ['the first of those that do not run', 0x06, slots(1, { 1: '1.0', 2: '1.1', 3: '1.2' }), 2],
    ['never the first one if it is read-only', 0x07, slots(3, { 1: '1', 2: '2', 3: '3' }), 2],
    ['the first one if another one runs', 0x04, slots(2, { 1: '1.0', 2: '1.1' }), 1],
  ])('is %s', (_, firmwareUpdates, log, expected) => {
    expect(chooseSlot({ firmwareUpdates }, log, '2.0')).toBe(expected);
  });

  it('is none if the only other one is read-only', () => {
    const log = slots(2, { 1: '1.0', 2: '1.1' });
    expect(() => chooseSlot({ firmwareUpdates: 0x05 }, log, '2.0')).toThrow(
      'it has 2, slot 2 runs, and slot 1 is read-only.',
    );
  });
});
