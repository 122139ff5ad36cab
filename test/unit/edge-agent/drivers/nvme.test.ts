import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { address, NvmeHost, second } from '#test/drivers/nvme/host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const host = perTest(() => new NvmeHost());
describe('discovery of NVMe devices', () => {
  it('describes a device by what the kernel showed before it was bound to VFIO', async () => {
    const { [address]: device } = await host.start({ traits: ['CUSTOM_FAST'] });
    expect(host.kernel.driverOf(address)).toBe('vfio-pci');
    expect(device).toMatchObject({
      address,
      driver: 'nvme',
      type: 'SSD',
      vendor: '144d',
      product: 'a80a',
      identity: 'S-c1',
      firmware: '1.0',
      attributes: { model_name: 'Simulated SSD', capacity_gb: '1000' },
      offers: {
        resource_class: 'CUSTOM_SSD',
        traits: ['CUSTOM_SSD_PRODUCT_ID_A80A', 'CUSTOM_PCI_PRODUCT_ID_A80A', 'CUSTOM_FAST'],
        attach_handles: [{ type: 'PCI', clean_seconds: 14_400 }],
      },
    });
  });

  it('leaves out devices of another class, whatever the settings name', async () => {
    host.host.tree.addFunction({ address: second, vendor: '144d', classCode: '010700' });
    expect(Object.keys(await host.start())).toEqual([address]);
  });

  it('refuses what the host uses, and leaves it on its driver', async () => {
    const block = host.host.addEntry('class/block/nvme0n1', address, 'nvme/nvme0/nvme0n1');
    host.host.tree.write(`${block}/dev`, '259:0\n');
    const mount = '29 1 259:0 / /data rw - ext4 /dev/nvme0n1 rw\n';
    host.host.proc.write('self/mountinfo', mount).write('1/mountinfo', mount);
    expect(await host.start()).toEqual({});
    expect(host.kernel.driverOf(address)).toBe('nvme');
    expect(await host.reasons()).toEqual({
      [address]: 'has a mounted file system: nvme0n1 at /data',
    });
  });

  it('refuses two devices with one serial number', async () => {
    host.kernel.add({ address: second }, { serial: 'S-c1' });
    expect(await host.start()).toEqual({});
    expect(await host.reasons()).toEqual({
      [address]: `has the same serial number as ${second}`,
      [second]: `has the same serial number as ${address}`,
    });
    await expect(host.clean()).rejects.toThrow('has the same serial number as');
  });

  it('keeps the firmware of a device that the host has open for a moment after a boot', async () => {
    await host.start();
    host.device.firmware = 'evil';
    host.kernel.reboot();
    host.host.addNode('nvme0', address);
    host.host.proc.addProcess(31, { comm: 'smartd', open: ['/dev/nvme0'] });
    expect(await host.start()).toEqual({});
    rmSync(join(host.host.proc.root, '31'), { recursive: true });
    expect(await host.discover()).toMatchObject({ [address]: { firmware: '1.0' } });
    await expect(host.clean()).rejects.toThrow(`The firmware of ${address} is evil, and was 1.0.`);
  });

  it('keeps the firmware of an offered device over a boot, because a holder may replace it', async () => {
    await host.start();
    host.device.firmware = 'evil';
    host.kernel.reboot();
    const { [address]: device } = await host.start();
    expect(device?.firmware).toBe('1.0');
    await expect(host.clean()).rejects.toThrow(`The firmware of ${address} is evil, and was 1.0.`);
    expect(host.changes()).toEqual([]);
  });

  it('keeps the firmware of a device whose holder has left a blank one, and another later', async () => {
    await host.start();
    host.device.firmware = '';
    host.kernel.reboot();
    expect(await host.start()).toMatchObject({ [address]: { firmware: '1.0' } });
    await expect(host.clean()).rejects.toThrow(`The firmware of ${address} is`);
    host.device.firmware = 'evil';
    host.kernel.reboot();
    expect(await host.start()).toMatchObject({ [address]: { firmware: '1.0' } });
    await expect(host.clean()).rejects.toThrow(`The firmware of ${address} is evil, and was 1.0.`);
  });

  it('takes the firmware of a device that was out of the settings as it is', async () => {
    await host.start();
    await host.start({ devices: [second] });
    host.device.firmware = '2.0';
    host.kernel.reboot();
    expect(await host.start()).toMatchObject({ [address]: { firmware: '2.0' } });
  });

  it('takes another device in the slot for another one', async () => {
    await host.start();
    Object.assign(host.device, { serial: 'S-new', firmware: '7' });
    host.kernel.reboot();
    const { [address]: device } = await host.start();
    expect(device).toMatchObject({ identity: 'S-new', firmware: '7' });
  });

  it('shows no text that is not printable', async () => {
    Object.assign(host.device, { model: '\u001b[31m', serial: 'A B' });
    host.kernel.reboot();
    const { [address]: device } = await host.start();
    expect(device?.identity).toBe('A_B');
    expect(device?.attributes).toEqual({ capacity_gb: '1000' });
  });

  it.each([
    [0, 0x1e, 'sanitise', 'has no Sanitize: set clean to format'],
    [0x1, 0x1e, 'overwrite', 'can crypto-erase, not overwrite: set clean to sanitise'],
    [0x3, 0, 'format', 'cannot format: set clean to sanitise'],
    [
      ...[0, 0, 'sanitise'],
      'can neither sanitise nor format: set clean to reset, and data_may_stay to true',
    ],
  ] as [number, number, string, string][])(
    'refuses a device with SANICAP %d and OACS %d under clean: %s',
    async (sanicap, oacs, clean, reason) => {
      Object.assign(host.device, { sanicap, oacs });
      expect(await host.start({ clean })).toEqual({});
      expect(host.kernel.driverOf(address)).toBe('nvme');
      expect(await host.reasons()).toEqual({ [address]: reason });
      expect(await host.driver?.plan?.()).toMatchObject([
        { address, refusal: `${address} ${reason}` },
      ]);
    },
  );

  it('takes a device without Sanitize after the settings have changed to format', async () => {
    host.device.sanicap = 0;
    await host.start();
    expect(Object.keys(await host.start({ clean: 'format' }))).toEqual([address]);
  });

  it('still knows after a restart what a device on VFIO cannot erase with', async () => {
    host.device.sanicap = 0;
    await host.start({ clean: 'format' });
    expect(await host.start()).toEqual({});
    expect(await host.reasons()).toEqual({ [address]: 'has no Sanitize: set clean to format' });
  });

  it('waits with a device while the tool does not tell what it can erase', async () => {
    host.kernel.faults.set('id-ctrl', { exitCode: 1, stderr: 'busy' });
    expect(await host.start()).toEqual({});
    expect(host.kernel.driverOf(address)).toBe('nvme');
    expect(await host.reasons()).toEqual({
      [address]: 'cannot be asked what it can erase: nvme id-ctrl failed with exit code 1: busy',
    });
    host.kernel.faults.clear();
    expect(Object.keys(await host.discover())).toEqual([address]);
  });

  it('refuses devices while nvme-cli is not installed', async () => {
    host.kernel.hasTool = false;
    expect(await host.start()).toEqual({});
    const reason = 'cannot be erased: /usr/sbin/nvme is not installed';
    expect(await host.reasons()).toEqual({ [address]: reason });
    expect(Object.keys(await host.start({ clean: 'none', data_may_stay: true }))).toEqual([
      address,
    ]);
  });

  it('refuses a device that it has never seen on the driver nvme', async () => {
    await host.start();
    rmSync(host.directory, { recursive: true });
    expect(await host.start()).toEqual({});
    expect(await host.reasons()).toEqual({
      [address]:
        'is on the driver vfio-pci, where it does not show what it can erase: bind it to nvme once',
    });
  });

  it('refuses a device whose serial number is not valid, and leaves it on its driver', async () => {
    host.device.serial = '\u001b[31m';
    host.kernel.reboot();
    expect(await host.start()).toEqual({});
    expect(host.kernel.driverOf(address)).toBe('nvme');
    expect(await host.reasons()).toEqual({ [address]: 'shows no serial number that is valid' });
  });

  it.each([
    [{ bpinfo: 2 }, 'refuse', 'has boot partitions: set boot_partitions to zero, or to keep'],
    [
      { bpinfo: 2, oacs: 0x1a },
      'zero',
      'has boot partitions that cannot be written: set boot_partitions to keep',
    ],
    [
      { hasRegisters: false },
      'zero',
      "does not show its boot partitions: install the agent's helper, or set boot_partitions to keep",
    ],
  ])('refuses a device with %j under boot_partitions: %s', async (device, boot, reason) => {
    Object.assign(host.device, device);
    host.kernel.hasHelper = false;
    expect(await host.start({ boot_partitions: boot })).toEqual({});
    expect(await host.reasons()).toEqual({ [address]: reason });
    expect(Object.keys(await host.start({ boot_partitions: 'keep' }))).toEqual([address]);
  });

  it('cleans no handle where the settings say so', async () => {
    const { [address]: device } = await host.start({ clean: 'none', data_may_stay: true });
    expect(device?.offers?.attach_handles[0]).not.toHaveProperty('clean_seconds');
  });

  it('resets only where the settings say so', async () => {
    const { [address]: device } = await host.start({ clean: 'reset', data_may_stay: true });
    expect(device?.offers?.attach_handles[0]).toHaveProperty('clean_seconds', 300);
    host.host.tree.write(`${host.host.tree.pathOf(address)}/config`, Buffer.alloc(256));
    expect(await host.clean()).toMatchObject({ cleaned_by: 'reset' });
    expect(host.kernel.ran).toEqual([]);
  });
});

describe('cleaning by a sanitize operation', () => {
  beforeEach(() => host.start());

  it.each(['2.8', '2.11', '2.16'] as const)('reads what nvme-cli %s prints', async (version) => {
    host.kernel.version = version;
    host.device.bpinfo = 2;
    host.kernel.hasHelper = false;
    await host.start();
    expect(await host.clean()).toMatchObject({
      cleaned_by: 'sanitise crypto-erase',
      boot_partitions: 'zeroed: 2 of 262144 bytes, not read back',
    });
  });

  it('erases the media, says how, and returns the device to VFIO', async () => {
    expect(await host.clean()).toEqual({
      cleaned_by: 'sanitise crypto-erase',
      sanitize_status: 'completed',
      sanitize_percent: 100,
      global_data_erased: true,
      namespaces: 'not reset: kept',
      boot_partitions: 'none',
      firmware: '1.0',
      firmware_unchanged: true,
    });
    expect(host.device.dirty.size).toBe(0);
    expect(host.kernel.driverOf(address)).toBe('vfio-pci');
    expect(host.changes()).toEqual(['sanitize /dev/nvme0 --sanact=4']);
    expect(host.percents).toEqual([33, 66]);
  });

  it.each([
    ['crypto-erase', 0x7, '--sanact=4'],
    ['block-erase', 0x6, '--sanact=2'],
    ['overwrite', 0x4, '--sanact=3 --owpass=1'],
  ])('takes %s where SANICAP is %d', async (method, sanicap, args) => {
    host.device.sanicap = sanicap;
    await host.start();
    expect(await host.clean()).toMatchObject({ cleaned_by: `sanitise ${method}` });
    expect(host.changes()).toEqual([`sanitize /dev/nvme0 ${args}`]);
  });

  it('takes the next method after one has failed, and says so', async () => {
    host.device.failing.add(4);
    await host.start();
    expect(await host.clean()).toMatchObject({
      cleaned_by: 'sanitise block-erase',
      failed_methods: 'crypto-erase',
    });
  });

  it('fails if all methods have failed, and keeps the host from the data', async () => {
    host.device.sanicap = 0x3;
    host.device.failing.add(4).add(2);
    await host.start();
    await expect(host.clean()).rejects.toThrow(
      'The sanitize operation failed: crypto-erase, block-erase.',
    );
    expect(host.device.dirty).toContain('media');
    expect(host.kernel.driverOf(address)).toBe('vfio-pci');
  });

  it('takes no other method than that of the settings', async () => {
    host.device.sanicap = 0x1;
    await host.start({ clean: 'overwrite' });
    await expect(host.clean()).rejects.toThrow(
      'The controller cannot do clean: overwrite; its Sanitize supports crypto-erase.',
    );
    expect(host.changes()).toEqual([]);
  });

  it('fails for a controller without Sanitize', async () => {
    host.device.sanicap = 0;
    await host.start();
    await expect(host.clean()).rejects.toThrow('its Sanitize supports no method.');
  });

  it('follows an operation that an earlier run of the agent has started', async () => {
    Object.assign(host.device, { sstat: 2, sprog: 0, cdw10: 4 });
    expect(await host.clean()).toMatchObject({ sanitize_was_running: true });
    expect(host.changes()).toEqual([]);
    expect(host.device.dirty.size).toBe(0);
  });

  it('goes on over a boot of the host', async () => {
    host.device.polls = 20;
    host.kernel.faults.set('sanitize-log', new Error('the host lost its power'));
    host.device.sstat = 1;
    await expect(host.clean()).rejects.toThrow('lost its power');
    Object.assign(host.device, { sstat: 2, sprog: 0, cdw10: 4 });
    host.kernel.faults.clear();
    host.kernel.reboot();
    await host.start();
    expect(await host.clean()).toMatchObject({ sanitize_was_running: true });
  });

  it('starts its own after an operation of the holder by another method', async () => {
    await host.start({ clean: 'block-erase' });
    Object.assign(host.device, { sstat: 2, sprog: 0, cdw10: 3 });
    expect(await host.clean()).toMatchObject({ cleaned_by: 'sanitise block-erase' });
    expect(host.changes()).toEqual(['sanitize /dev/nvme0 --sanact=2']);
  });

  it('takes no completion of an earlier operation for its own', async () => {
    Object.assign(host.device, { sstat: 0x101, cdw10: 4 });
    await host.clean();
    expect(host.changes()).toEqual(['sanitize /dev/nvme0 --sanact=4']);
    expect(host.device.dirty.size).toBe(0);
  });

  it('begins anew after a failure of the holder, and never leaves the failure mode', async () => {
    Object.assign(host.device, { sstat: 3, cdw10: 0xc });
    expect(await host.clean()).toMatchObject({ cleaned_by: 'sanitise crypto-erase' });
    expect(host.changes()).toEqual(['sanitize /dev/nvme0 --sanact=4']);
  });

  it('fails when the time of the settings is over', async () => {
    host.device.polls = 60_000;
    await host.start({ clean_seconds: 600 });
    await expect(host.clean()).rejects.toThrow(
      'The sanitize operation has not ended in time; it is at 0 %.',
    );
    expect(host.nowMs).toBeLessThan(600_000);
    expect(host.kernel.driverOf(address)).toBe('vfio-pci');
  });

  it('keeps the device offered, and its binding, while the tool has it open', async () => {
    const before = await host.start();
    const seen: unknown[] = [];
    host.kernel.during = async (verb) => {
      if (verb !== 'sanitize') return;
      const { proc } = host.host;
      proc.addProcess(32, { comm: 'nvme', open: ['/dev/nvme0'] });
      seen.push(await host.driver?.plan?.(), await host.driver?.discover());
      rmSync(join(proc.root, '32'), { recursive: true });
    };
    await host.clean();
    expect(seen).toEqual([[], { devices: before, notOffered: [] }]);
    expect(await host.discover()).toEqual(before);
  });
});
