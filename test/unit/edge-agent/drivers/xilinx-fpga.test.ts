import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { parseFacts } from '#agent/drivers/xilinx-fpga/tools.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import { aXilinxHost, blankUuid, card, imageId, slot } from '#test/drivers/xilinx-fpga/host.ts';
import { imageUuid, shellInterface } from '#test/drivers/xilinx-fpga/xclbin.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const vfio = ['vfio-pci', 'vfio-pci'];
const interfaceUuid = '862c7020-a250-293e-3203-6f19956669e5';

const on = perTest(aXilinxHost);

/** A card that is offered. */
async function anOffered(cards: object = {}) {
  const state = on.kernel.add(slot);
  const driver = await on.driver(cards);
  expect((await driver.setUp()).left).toEqual([]);
  await driver.discover();
  return { state, driver };
}

describe('an Alveo card', () => {
  it('is one region with both functions, and is read before it is on the VFIO driver', async () => {
    const { driver } = await anOffered({ traits: ['CUSTOM_FINANCE'] });
    expect(on.drivers()).toEqual(vfio);
    const { device, region } = await driver.discover();
    expect(device).toMatchObject({
      driver: 'xilinx_fpga',
      type: 'FPGA',
      vendor: '10ee',
      product: '5004',
      model: 'ALVEO U250 PQ',
      identity: 'S-d8',
      firmware: '4.6.20',
      attributes: { platform: 'xilinx_u250_gen3x16_xdma_shell_4_1', user_function: `${slot}.1` },
    });
    expect(device?.offers).toBeUndefined();
    expect(region).toMatchObject({
      kind: 'reconfigurable-region',
      'region-type-uuid': interfaceUuid,
      resource_class: 'FPGA',
      num_accelerators: 1,
      traits: ['CUSTOM_FPGA_XILINX', 'CUSTOM_FPGA_PRODUCT_ID_5004', 'CUSTOM_FINANCE'],
    });
    expect(region?.attach_handles.map(({ info }) => info.function)).toEqual(['0', '1']);
    expect(on.kernel.ran).toEqual([expect.stringContaining(`xbmgmt examine --device ${card}`)]);
    expect(await driver.plan()).toEqual([]);
  });

  it('is offered again after a boot, without what was loaded', async () => {
    const { driver } = await anOffered();
    await driver.program();
    const before = (await driver.discover()).region;
    expect(before).toMatchObject({ 'bitstream-id': imageId, 'function-uuid': imageUuid });
    on.kernel.reboot();
    const after = await on.driver({}, 'boot-2');
    expect((await after.setUp()).left).toEqual([]);
    expect(on.drivers()).toEqual(vfio);
    const { region } = await after.discover();
    expect(region?.attach_handles).toEqual(before?.attach_handles);
    expect(region).not.toHaveProperty('bitstream-id');
  });

  it('that could not be cleaned after a guest is not offered', async () => {
    const { driver } = await anOffered({ blank_image: on.blank });
    on.kernel.hasTools = false;
    const { device, reasons } = await driver.discover();
    expect(device).toBeUndefined();
    expect(reasons).toEqual(['cannot be reset: /opt/xilinx/xrt/bin/xbutil is not installed']);
    on.kernel.hasTools = true;
    writeFileSync(on.blank, 'no image');
    const { reasons: others } = await driver.discover();
    expect(others.join()).toContain(`cannot be blanked after a guest: ${on.blank}: `);
  });

  it('of the factory is not offered, and needs a flash', async () => {
    on.host.tree.addFunction({
      address: card,
      vendor: '10ee',
      product: 'd004',
      classCode: '120000',
    });
    const driver = await on.driver();
    expect(await driver.plan()).toEqual([]);
    expect((await driver.discover()).reasons).toEqual([
      'has the golden image: an operator must flash a shell, and start the host',
    ]);
  });

  it.each([
    ['mfg', /^has the golden image/],
    ['recovery', /^has its recovery image/],
  ])('with %s is not offered', async (file, reason) => {
    on.kernel.add(slot);
    on.host.tree.write(`${on.host.tree.pathOf(card)}/${file}`, '1\n');
    expect((await (await on.driver()).discover()).reasons).toEqual([expect.stringMatching(reason)]);
  });

  it('is not offered without its user function, and not under the address of that', async () => {
    on.kernel.add(slot);
    const wrong = await on.driver({ addresses: [`${slot}.1`, '0000:00:1f.0'] });
    expect((await wrong.discover()).reasons[1]).toBe('is not on this host');
    on.host.tree.removeFunction(`${slot}.1`);
    expect((await (await on.driver()).discover()).reasons).toEqual([
      'has no user function: name the management function, and flash a shell',
    ]);
  });

  it('that shares its serial number with another one has no identity by it', async () => {
    on.kernel.add(slot, { serial: 'X' });
    on.kernel.add('0000:af:00', { serial: 'X' });
    const driver = await on.driver({ addresses: [card, '0000:af:00.0'] });
    await driver.setUp();
    const { devices } = await driver.discover();
    expect(Object.values(devices).map(({ identity }) => identity)).toEqual([undefined, undefined]);
  });

  it('that a process of the host uses is neither read nor offered', async () => {
    on.kernel.add(slot);
    on.host.addNode('dri/renderD128', `${slot}.1`);
    on.host.proc.addProcess(31, { comm: 'app', open: ['/dev/dri/renderD128'] });
    const driver = await on.driver();
    expect(await driver.plan()).toMatchObject([
      { what: 'shell', refusal: expect.stringContaining('process 31 (app) uses') },
    ]);
    expect((await driver.discover()).device).toBeUndefined();
  });

  it.each([
    ['prints nonsense', 'no JSON', /what is not valid JSON/],
    ['reports another card', '{"devices":[{"platform":{"bdf":"0000:01:00.0"}}]}', /another card/],
    ['reports nothing', '{"devices":[]}', /another report than of one platform/],
    ['fails', { exitCode: 1, stderr: 'ERROR: Unknown device' }, /exit code 1: ERROR: Unknown/],
    ['hangs', new HardwareError('ETIMEDOUT', 'no answer within 120 s'), /no answer within 120 s/],
  ])('is not offered while xbmgmt %s', async (_, fault, reason) => {
    on.kernel.add(slot);
    on.kernel.faults.set('xbmgmt examine', fault);
    const driver = await on.driver();
    expect((await driver.setUp()).left.join()).toMatch(reason);
    expect((await driver.discover()).reasons).toEqual(['was not read by its drivers yet']);
  });

  it.each([
    [
      'its configuration space',
      () => {
        const config = join(on.host.tree.root, on.host.tree.pathOf(card), 'config');
        const bytes = readFileSync(config);
        writeFileSync(config, Buffer.alloc(bytes.length, 0xff));
        return () => writeFileSync(config, bytes);
      },
    ],
    [
      'the uevent of its user function',
      () => {
        const file = join(on.host.tree.root, on.host.tree.pathOf(`${slot}.1`), 'uevent');
        const text = readFileSync(file);
        writeFileSync(file, '');
        return () => writeFileSync(file, text);
      },
    ],
  ])('stays with its guest while %s cannot be read once', async (_, fail) => {
    const { driver } = await anOffered();
    const group = on.host.sysfs.linkName(`bus/pci/devices/${card}/iommu_group`);
    const mend = fail();
    expect((await driver.discover()).device).toBeUndefined();
    mend();
    on.host.proc.addProcess(31, { comm: 'qemu', open: [`/dev/vfio/${group}`] });
    expect((await driver.discover()).region?.attach_handles).toHaveLength(2);
  });

  it('whose errors on the link were fatal is unhealthy', async () => {
    const { driver } = await anOffered();
    on.host.tree.write(`${on.host.tree.pathOf(`${slot}.1`)}/aer_dev_fatal`, 'TOTAL_ERR_FATAL 2\n');
    expect((await driver.discover()).device?.health?.state).toBe('unhealthy');
  });
});

describe('an image', () => {
  it('is loaded by xbutil, read back, and both functions are on VFIO afterwards', async () => {
    const { driver, state } = await anOffered();
    const percents: number[] = [];
    await driver.program({}, percents);
    expect(state.loaded).toBe(imageUuid);
    expect(on.kernel.ran.at(-1)).toMatch(
      new RegExp(`^xbutil program --device ${slot}.1 --user /.*image.xclbin$`),
    );
    expect(on.drivers()).toEqual(vfio);
    expect(percents).toEqual([10, 90, 100]);
  });

  it.each([
    [{ platform: 'xilinx_u200_gen3x16_xdma_2' }, /is for platform xilinx_u200/],
    [{ metadata: ['ffffffff000040008000000000000001'] }, /needs interface ffffffff/],
    [{ interfaceUuid: 'ffffffff000040008000000000000001' }, /needs interface ffffffff/],
    [{ mode: 5 }, /is for an emulator/],
  ])('%j is refused before anything is written', async (given, reason) => {
    const { driver } = await anOffered();
    const before = on.kernel.ran.length;
    await expect(driver.program(given)).rejects.toThrow(reason);
    expect(on.kernel.ran).toHaveLength(before);
    expect(on.drivers()).toEqual(vfio);
  });

  it('is not loaded while a guest has the card, or a kernel of the card runs', async () => {
    const { driver, state } = await anOffered();
    state.hasContext = true;
    await expect(driver.program()).rejects.toThrow(/exit code 1: ERROR: .*resource busy/);
    state.hasContext = false;
    on.host.openVfio(card);
    await expect(driver.program()).rejects.toThrow(/is open: process 31/);
    expect(on.drivers()).toEqual(vfio);
    expect((await driver.discover()).region).not.toHaveProperty('bitstream-id');
  });

  it('that the card does not show afterwards counts as not loaded', async () => {
    const { driver, state } = await anOffered();
    await driver.program();
    state.showsNothing = true;
    const again = driver.program({ uuid: blankUuid });
    await expect(again).rejects.toThrow(`does not show ${blankUuid} after the program`);
    expect((await driver.discover()).region).not.toHaveProperty('bitstream-id');
    expect(on.drivers()).toEqual(vfio);
  });

  it('is not loaded into a card that is not ready, has another shell, or is gone', async () => {
    const { driver, state } = await anOffered();
    state.ready = false;
    await expect(driver.program()).rejects.toThrow('The card is not ready.');
    state.ready = true;
    state.interfaces = [shellInterface];
    await expect(driver.program()).rejects.toThrow('has another shell than before');
    on.host.tree.removeFunction(`${slot}.1`);
    await expect(driver.program()).rejects.toThrow('has no user function');
  });

  it('is reported as soon as it is loaded, and the card stays offered meanwhile', async () => {
    const { driver } = await anOffered();
    let during: Awaited<ReturnType<typeof driver.discover>> | undefined;
    on.kernel.during = async () => {
      during = await driver.discover();
    };
    await driver.program();
    expect(during?.region?.attach_handles).toHaveLength(2);
    expect(during?.region).not.toHaveProperty('bitstream-id');
  });
});

describe('a card is cleaned', () => {
  it('by a reset and the blank image, and has no content afterwards', async () => {
    const { driver, state } = await anOffered({ blank_image: on.blank });
    await driver.program();
    expect(await driver.clean()).toEqual({
      cleaned_by: 'reset and blank image',
      xclbin_uuid: blankUuid,
      shell_unchanged: true,
    });
    expect(state.loaded).toBe(blankUuid);
    expect((await driver.discover()).region).not.toHaveProperty('bitstream-id');
    expect(on.drivers()).toEqual(vfio);
  });

  it('by a reset alone, which says what is left', async () => {
    const { driver } = await anOffered();
    expect(await driver.clean()).toMatchObject({ cleaned_by: 'reset', xclbin_left: 'none' });
    expect(on.kernel.ran.at(-1)).toBe(`xbutil reset --device ${slot}.1 --force`);
  });

  it('not by a reset that has failed, though xbutil ends with 0', async () => {
    const { driver, state } = await anOffered();
    state.hasContext = true;
    await expect(driver.clean()).rejects.toThrow('xbutil reset has not confirmed the reset');
    expect(on.drivers()).toEqual(vfio);
  });

  it.each([
    ['fails', { exitCode: 1, stderr: 'ERROR: reset not supported' }, /reset not supported/],
    ['prints nonsense', 'Hello.', /has not confirmed the reset: Hello\./],
    ['hangs', new HardwareError('ETIMEDOUT', 'no answer within 120 s'), /ETIMEDOUT/],
    ['is not installed', new HardwareError('ENOENT', 'xbutil is not installed'), /ENOENT/],
  ])('not while xbutil %s', async (_, fault, reason) => {
    const { driver } = await anOffered();
    on.kernel.faults.set('xbutil reset', fault);
    await expect(driver.clean()).rejects.toThrow(reason);
    expect(on.drivers()).toEqual(vfio);
  });

  it.each([
    ['dev_offline', new HardwareError('EBUSY', 'busy'), 'EBUSY: busy'],
    ['device_bad_state', new HardwareError('ETIMEDOUT', 'no answer'), 'ETIMEDOUT: no answer'],
    // xocl prints the errno where it cannot tell.
    ['dev_offline', '-19', `The card ${card} has an unknown dev_offline.`],
    ['device_bad_state', '1', `The card ${card} has a kernel that hangs.`],
  ])('not while its %s is unreadable, unknown or set: %s', async (file, fault, reason) => {
    const { driver } = await anOffered();
    on.kernel.faults.set(`read ${file}`, fault);
    await expect(driver.clean()).rejects.toThrow(reason);
    expect(on.drivers()).toEqual(vfio);
  });

  it('while the set-up applies what it planned before the job', async () => {
    await anOffered();
    on.kernel.reboot();
    const reached = Promise.withResolvers<void>();
    const hardware = on.kernel.hardware();
    let cleaned: Promise<unknown> | undefined;
    on.kernel.hardware = () => ({
      ...hardware,
      writeText: async (device, path, text) => {
        // The set-up has made its checks; a job begins, and goes as far as it may.
        if (!cleaned && path.endsWith('/driver_override')) {
          cleaned = driver.clean();
          await Promise.race([reached.promise, setTimeout(300)]);
        }
        await hardware.writeText(device, path, text);
      },
    });
    const driver = await on.driver({}, 'boot-2');
    const [change] = await driver.plan();
    const applied = change && 'apply' in change ? change.apply() : undefined;
    on.kernel.during = async () => {
      reached.resolve();
      await applied;
      expect(on.drivers()).toEqual(['xclmgmt', 'xocl']);
    };
    await applied;
    expect(await cleaned).toMatchObject({ cleaned_by: 'reset' });
    expect(on.drivers()).toEqual(vfio);
  });

  it('by an xocl without the file device_bad_state', async () => {
    const { driver } = await anOffered();
    on.kernel.faults.set('read device_bad_state', new HardwareError('ENOENT', 'absent'));
    expect(await driver.clean()).toMatchObject({ cleaned_by: 'reset' });
  });

  it.each(['(null)', '00000000-0000-0000-0000-000000000000'])(
    'by a reset that leaves no image, which xocl shows as %s',
    async (text) => {
      const { driver } = await anOffered();
      on.kernel.faults.set('read xclbinuuid', text);
      expect(await driver.clean()).toMatchObject({ xclbin_left: 'none' });
    },
  );

  it('not while its loaded images cannot be told', async () => {
    const { driver } = await anOffered();
    on.kernel.faults.set('read xclbinuuid', 'x'.repeat(4000));
    await expect(driver.clean()).rejects.toThrow('xclbinuuid is not a list of uuids');
  });

  it('not by a blank image beside the image of a holder', async () => {
    const { driver } = await anOffered({ blank_image: on.blank });
    on.kernel.faults.set('read xclbinuuid', `${imageUuid}\n${blankUuid}`);
    await expect(driver.clean()).rejects.toThrow('still shows');
  });

  it('not with a blank image for another shell, or that is missing', async () => {
    const { driver, state } = await anOffered({ blank_image: '/nowhere/blank.xclbin' });
    await expect(driver.clean()).rejects.toThrow('ENOENT');
    const again = await on.driver({ blank_image: on.blank });
    on.kernel.faults.set('xbutil program', { exitCode: 1, stderr: 'ERROR: no' });
    await expect(again.clean()).rejects.toThrow(
      'xbutil program failed with exit code 1: ERROR: no',
    );
    expect(state.loaded).toBeUndefined();
  });

  it('not after another card has come into its slot', async () => {
    const { driver } = await anOffered();
    on.host.tree.removeFunction(card);
    on.host.tree.addFunction({ address: card, vendor: '10ee', product: '500c', iommuGroup: 999 });
    await expect(driver.clean()).rejects.toThrow('is not the one that was read');
  });
});

describe('the report of xbmgmt', () => {
  it('leaves out what is not told, and needs a platform', () => {
    const of = (platform: object) => JSON.stringify({ devices: [{ platform }] });
    const shell = { vbnv: 'xilinx_u200_xdma_201830_2', sc_version: 'N/A' };
    const told = { bdf: card, hardware: { serial_num: 'N/A' }, current_shell: shell };
    expect(parseFacts(of({ ...told, current_partitions: '' }), card)).toEqual({
      base: 'xilinx_u200_xdma_201830_2',
      platforms: ['xilinx_u200_xdma_201830_2'],
    });
    expect(() => parseFacts(of({ bdf: card }), card)).toThrow('names no platform');
  });
});
