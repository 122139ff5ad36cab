import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { HardwareError } from '#agent/hardware/errno.ts';
import { address, NvmeHost, second } from '#test/drivers/nvme/host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const host = perTest(() => new NvmeHost());
const bindsBack = () => expect(host.kernel.driverOf(address)).toBe('vfio-pci');

describe('cleaning an NVMe device', () => {
  beforeEach(() => host.start());

  it('touches nothing while a guest has it open', async () => {
    host.host.openVfio(address);
    await expect(host.clean()).rejects.toThrow('is open: process 31 (qemu) uses /dev/vfio/');
    expect(host.kernel.ran).toEqual([]);
    bindsBack();
  });

  it('touches nothing that the settings do not name', async () => {
    host.kernel.add({ address: second, product: 'ffff' });
    await host.start({ devices: [address] });
    await expect(host.clean(second)).rejects.toThrow(
      'The function 0000:c2:00.0 is not in the settings of nvme.',
    );
    expect(host.kernel.driverOf(second)).toBe('nvme');
  });

  it('fails for a function that is no longer there', async () => {
    host.host.tree.removeFunction(address);
    await expect(host.clean()).rejects.toThrow(`${address} is no longer there`);
  });

  it.each([
    ['waits while udev reads the device that has appeared', 1_000, 'vfio-pci'],
    ['fails for a device that the host has open for longer', 60_000, 'nvme'],
  ])('%s', async (_, untilMs, driver) => {
    host.kernel.afterBind = (_address, to) => {
      if (to === 'nvme') host.host.openVfio(address);
    };
    host.whileAsleep = () => {
      if (host.nowMs < untilMs) return;
      host.host.proc.removeProcess(31);
      host.whileAsleep = () => {};
    };
    const cleaned = await host.clean().then(
      () => 'cleaned',
      (error: Error) => error.message,
    );
    expect(cleaned).toMatch(driver === 'nvme' ? /is open: process 31/ : /^cleaned$/);
    expect(host.kernel.driverOf(address)).toBe(driver);
  });

  it('leaves a device alone on which the host has started a volume', async () => {
    host.kernel.afterBind = (_address, driver) => {
      if (driver !== 'nvme') return;
      const block = host.host.addEntry('class/block/nvme0n1', address, 'nvme/nvme0/nvme0n1');
      host.host.tree.write(`${block}/dev`, '259:0\n').write(`${block}/holders/dm-0`, '');
    };
    await expect(host.clean()).rejects.toThrow('is part of a volume: dm-0 holds nvme0n1');
    expect(host.kernel.ran).toEqual([]);
    expect(host.kernel.driverOf(address)).toBe('nvme');
    expect(host.host.log.lines.at(-1)).toMatchObject({
      message: 'NVMe device left on the driver nvme',
      address,
    });
  });

  it.each([
    ['dead', 'The controller nvme0 of 0000:c1:00.0 is dead.'],
    ['deleting (no IO)', 'The controller nvme0 of 0000:c1:00.0 is deleting (no IO).'],
    ['resetting', 'The controller of 0000:c1:00.0 is resetting after 130 s.'],
    [undefined, 'The controller of 0000:c1:00.0 has not appeared after 130 s.'],
  ])('fails for a controller whose state is %s', async (state, reason) => {
    host.device.state = state;
    await expect(host.clean()).rejects.toThrow(reason);
    expect(host.kernel.ran).toEqual([]);
    bindsBack();
  });

  it('sends nothing to another controller that has got the name', async () => {
    host.kernel.add({ address: second, product: 'ffff' });
    await host.start({ devices: [address] });
    host.device.failing.add(4);
    const { tree } = host.host;
    host.kernel.during = async (verb) => {
      if (verb !== 'sanitize-log' || host.changes().length === 0) return;
      rmSync(join(tree.root, 'class/nvme/nvme0'));
      tree.link('class/nvme/nvme0', `${tree.pathOf(second)}/nvme/nvme0`);
    };
    await expect(host.clean()).rejects.toThrow(`nvme0 is no longer the controller of ${address}.`);
    expect(host.changes()).toEqual(['sanitize /dev/nvme0 --sanact=4']);
    bindsBack();
  });

  it('fails for another device than before', async () => {
    host.device.serial = 'S-new';
    await expect(host.clean()).rejects.toThrow('is another one than before: its serial number.');
    expect(host.changes()).toEqual([]);
    bindsBack();
  });

  it('fails while another controller of the host has its serial number', async () => {
    await host.start({ devices: [address] });
    host.kernel.add({ address: second }, { serial: 'S-c1' });
    await expect(host.clean()).rejects.toThrow(
      `${address} and ${second} have the same serial number.`,
    );
    expect(host.kernel.ran).toEqual([]);
    bindsBack();
  });

  it.each(['id-ctrl', 'sanitize-log', 'show-regs'])('fails if %s prints nonsense', async (verb) => {
    host.kernel.hasHelper = false;
    host.kernel.faults.set(verb, '\u0000{"sn":');
    await expect(host.clean()).rejects.toThrow(`nvme ${verb} printed what is not valid for it.`);
    bindsBack();
  });

  it.each(['id-ctrl', 'sanitize-log', 'sanitize', 'show-regs'])(
    'fails if %s fails, as on a device that fell off the bus',
    async (verb) => {
      host.kernel.hasHelper = false;
      host.kernel.faults.set(verb, { exitCode: 1, stderr: `${verb}: No such device\n` });
      await expect(host.clean()).rejects.toThrow(
        `nvme ${verb} failed with exit code 1: ${verb}: No such device`,
      );
    },
  );

  it.each(['id-ctrl', 'sanitize-log', 'sanitize'])('fails if %s hangs', async (verb) => {
    host.kernel.faults.set(verb, new HardwareError('ETIMEDOUT', 'no answer within 30 s'));
    await expect(host.clean()).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  });

  it('fails if the tool is not installed', async () => {
    host.kernel.faults.set('id-ctrl', new HardwareError('EIO', '/usr/sbin/nvme did not run'));
    await expect(host.clean()).rejects.toThrow('/usr/sbin/nvme did not run');
    bindsBack();
  });

  it('fails if the log is of another operation', async () => {
    const sstat = { global_erased: 1, status: '(1) done' };
    const log = { nvme0: { sprog: 0xffff, sstat, cdw10_info: 2 } };
    host.kernel.faults.set('sanitize-log', JSON.stringify(log));
    await expect(host.clean()).rejects.toThrow('The sanitize log is of action 2, not of 4.');
  });
});

describe('formatting', () => {
  it.each([
    [0x4, 2, 'crypto-erase'],
    [0x0, 1, 'user-data-erase'],
  ])('with FNA %d erases by SES %d, in the LBA format that there is', async (fna, ses, name) => {
    host.device.fna = fna;
    await host.start({ clean: 'format' });
    expect(await host.clean()).toMatchObject({
      cleaned_by: `format ${name}`,
      format_status: 'completed',
      formatted_namespaces: 1,
    });
    const [command = ''] = host.changes();
    expect(command).toMatch(`format /dev/nvme0 --namespace-id=1 --lbaf=1 --ses=${ses} --force`);
    expect(host.device.dirty.size).toBe(0);
    expect(host.percents).toEqual([100]);
  });

  it.each([
    [{ oacs: 0 }, 'The controller has no command Format NVM.'],
    [{ namespaces: [] }, 'The controller has no namespace to format.'],
    [
      { namespaces: [1, 2].map((nsid) => ({ nsid, attached: nsid === 1 })) },
      'Namespace 2 is not attached, so that Format NVM does not reach it.',
    ],
    [{ sstat: 3, cdw10: 0x4 }, 'A sanitize operation failed, and only another one ends this'],
  ])('is refused for %j', async (given, reason) => {
    Object.assign(host.device, given);
    await host.start({ clean: 'format' });
    await expect(host.clean()).rejects.toThrow(reason);
    expect(host.changes()).toEqual([]);
    bindsBack();
  });

  it('leaves the failure mode that the holder has allowed to leave', async () => {
    Object.assign(host.device, { sstat: 3, cdw10: 0xc });
    await host.start({ clean: 'format' });
    await host.clean();
    expect(host.changes()[0]).toBe('sanitize /dev/nvme0 --sanact=1');
    expect(host.device.dirty.size).toBe(0);
  });
});

describe('namespaces', () => {
  const several = [1, 2, 5].map((nsid) => ({ nsid, attached: nsid !== 5 }));

  it('are one of all the capacity after a reset', async () => {
    host.device.namespaces = several;
    await host.start({ namespaces: 'reset' });
    expect(await host.clean()).toMatchObject({ namespaces: 'reset: 1 in place of 3' });
    expect(host.changes().slice(1)).toEqual([
      'delete-ns /dev/nvme0 --namespace-id=4294967295',
      'create-ns /dev/nvme0 --nsze=244190646 --ncap=244190646 --flbas=1',
      'attach-ns /dev/nvme0 --namespace-id=1 --controllers=4',
    ]);
    expect(host.device.namespaces).toEqual([{ nsid: 1, attached: true }]);
  });

  it('are reset before a format, which then reaches all of the capacity', async () => {
    host.device.namespaces = several;
    await host.start({ namespaces: 'reset', clean: 'format' });
    await host.clean();
    expect(host.changes().map((each) => each.split(' ')[0])).toEqual([
      ...['delete-ns', 'create-ns', 'attach-ns', 'format'],
    ]);
  });

  it('stay where the controller cannot manage them, and the evidence says so', async () => {
    host.device.oacs = 0x2;
    await host.start({ namespaces: 'reset' });
    expect(await host.clean()).toMatchObject({
      namespaces: 'not reset: the controller has no namespace management',
    });
  });

  it('are a failure if one cannot be made', async () => {
    await host.start({ namespaces: 'reset' });
    host.kernel.faults.set('create-ns', { exitCode: 1, stderr: 'NVMe status: bad' });
    await expect(host.clean()).rejects.toThrow('nvme create-ns failed with exit code 1');
    host.kernel.faults.clear();
    expect(await host.clean()).toMatchObject({ namespaces: 'reset: 1 in place of 0' });
  });
});

describe('boot partitions', () => {
  beforeEach(() => {
    host.device.bpinfo = 2;
    host.device.dirty.add('boot 0').add('boot 1');
  });

  it('are overwritten with zeros', async () => {
    await host.start();
    expect(await host.clean()).toMatchObject({
      boot_partitions: 'zeroed: 2 of 262144 bytes, not read back',
    });
    expect(host.device.dirty.size).toBe(0);
  });

  it('are a failure if one is locked', async () => {
    await host.start();
    const stderr = 'NVMe status: Boot Partition Write Prohibited(0x11e)';
    host.kernel.faults.set('fw-commit', { exitCode: 1, stderr });
    await expect(host.clean()).rejects.toThrow('Boot Partition Write Prohibited');
  });

  it('are a failure where the settings refuse them', async () => {
    await host.start({ boot_partitions: 'refuse' });
    await expect(host.clean()).rejects.toThrow('The controller has boot partitions.');
  });

  it('are found by the helper where nvme-cli cannot read the registers', async () => {
    host.device.hasRegisters = false;
    await host.start();
    expect(await host.clean()).toMatchObject({
      boot_partitions: 'zeroed: 2 of 262144 bytes, not read back',
    });
    expect(host.device.dirty).toEqual(new Set());
    expect(host.kernel.driverOf(address)).toBe('vfio-pci');
  });

  it('are absent where the helper reads so', async () => {
    Object.assign(host.device, { hasRegisters: false, bpinfo: 0 });
    await host.start();
    expect(await host.clean()).toMatchObject({ boot_partitions: 'none' });
  });

  it('are a failure where neither the helper nor nvme-cli can read the registers', async () => {
    host.device.hasRegisters = false;
    host.kernel.hasHelper = false;
    await host.start();
    await expect(host.clean()).rejects.toThrow('registers of the controller cannot be read');
  });

  it('stay where the settings say so, and the evidence says so', async () => {
    host.device.hasRegisters = false;
    await host.start({ boot_partitions: 'keep' });
    expect(await host.clean()).toMatchObject({ boot_partitions: 'not reset: kept' });
    expect(host.device.dirty).toContain('boot 0');
  });
});
