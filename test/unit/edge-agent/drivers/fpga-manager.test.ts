import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#agent/clock.ts';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import { createFpgaManagerDriver } from '#agent/drivers/fpga-manager/index.ts';
import { fpgaManagerSettings } from '#agent/drivers/fpga-manager/settings.ts';
import { FpgaManagerKernel } from '#test/drivers/fpga-manager/kernel.ts';
import { aFunction, aGbs, fakeInterface, type GbsGiven } from '#test/support/hosts/gbs.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const attach = '0000:01:00.0';
const imageId = '0f1a2b3c-0000-4000-8000-00000000000a';
const other = '11111111-2222-4333-8444-555555555555';
const board = { manager: 'fpga0', interface: fakeInterface };

const host = perTest(aGuardedHost);
let kernel: FpgaManagerKernel;
let driver: Driver;
let blank: string;

beforeEach(() => {
  const firmware = join(host.proc.root, 'firmware');
  mkdirSync(firmware);
  kernel = new FpgaManagerKernel(host.tree, firmware);
  blank = join(host.proc.root, 'blank.gbs');
  writeFileSync(blank, aGbs({ bitstream: 'nothing' }));
});

async function start(given: object = {}, bootId = 'first') {
  const settings = fpgaManagerSettings.parse({
    boards: [{ ...board, ...given }],
    firmware_directory: kernel.firmware,
  });
  const hardware = { ...host.hardware, ...kernel.hardware() };
  const clock = { ...systemClock, wallMs: () => 0 };
  driver = createFpgaManagerDriver(settings, await host.context({ hardware, clock, bootId }));
  return await device();
}

async function device() {
  return (await driver.discover()).devices.fpga0;
}

async function reasons() {
  return (await driver.discover()).notOffered?.map(({ address, reason }) => `${address} ${reason}`);
}

async function write(given: GbsGiven | Buffer = {}, region = 'region0'): Promise<void> {
  const imagePath = join(host.proc.root, 'image');
  writeFileSync(imagePath, Buffer.isBuffer(given) ? given : aGbs(given));
  await driver.images?.write({ address: 'fpga0', region, imageId, imagePath }, () => {});
}

/** A board with a function for guests. */
async function startAttached(given: object = {}) {
  kernel.add('fpga0');
  host.tree.addFunction({ address: attach, vendor: '10ee', classCode: '120000' });
  return await start({ attach, blank_image: blank, ...given });
}

it('offers the function of a board whose image has given it other ids', async () => {
  await startAttached();
  const before = await reasons();
  host.tree.removeFunction(attach);
  host.tree.addFunction({ address: attach, vendor: '10ee', product: '9038', classCode: '120000' });
  expect(await reasons()).toEqual(before);
});

const info = { domain: '0000', bus: '01', device: '00', function: '0' };
const clean = () => driver.clean?.({ address: 'fpga0', uuid: 'u', type: 'PCI', info }, () => {});

describe('discovery of FPGA managers', () => {
  it('describes a board by the name of the kernel, with a region and no handle', async () => {
    kernel.add('fpga0');
    expect(await start({ traits: ['CUSTOM_KRIA'] })).toEqual({
      address: 'fpga0',
      driver: 'fpga_manager',
      type: 'FPGA',
      vendor: 'linux',
      product: 'fpga0',
      model: 'Xilinx ZynqMP FPGA Manager',
      std_board_info: '{"manager":"fpga0","name":"Xilinx ZynqMP FPGA Manager"}',
      vendor_board_info: 'miss_vb_info',
      attributes: { images: 'full', programming: 'firmware' },
      regions: [
        {
          name: 'region0',
          kind: 'reconfigurable-region',
          resource_class: 'FPGA',
          'region-type-uuid': fakeInterface,
          traits: ['CUSTOM_KRIA'],
          attach_handles: [],
        },
      ],
    });
  });

  it('offers the function that the FPGA is for guests', async () => {
    const found = await startAttached();
    expect(found?.regions[0]?.attach_handles).toEqual([{ type: 'PCI', info, clean_seconds: 280 }]);
  });

  it('offers no function that the host uses', async () => {
    host.proc.addProcess(31, { comm: 'vpp', open: ['/dev/vfio/1'] });
    const found = await startAttached();
    expect(found?.regions[0]?.attach_handles).toEqual([]);
    expect(await reasons()).toEqual([`${attach} is open: process 31 (vpp) uses /dev/vfio/1`]);
  });

  it('says that a kernel without the file firmware programs nothing', async () => {
    kernel.add('fpga0', { isMainline: true });
    expect((await start())?.attributes?.programming).toBe('none');
    await expect(write()).rejects.toThrow('The kernel has no file firmware for fpga0');
  });

  it.each([
    [() => {}, 'is not in /sys/class/fpga_manager'],
    [
      () => kernel.add('fpga0') && kernel.write('fpga0', 'name', 'DFL FME FPGA Manager'),
      'intel_fpga',
    ],
    [() => kernel.add('fpga0') && kernel.write('fpga0', 'name', '<b>'), 'its name is not valid'],
    [() => kernel.add('fpga0') && kernel.write('fpga0', 'state', '../x'), 'its state is not valid'],
  ])('offers no other board %#', async (change, reason) => {
    change();
    expect(await start()).toBeUndefined();
    expect((await reasons())?.join()).toContain(reason);
  });

  it.each([
    ['power off', 'unhealthy'],
    ['write error', 'degraded'],
    ['firmware request error', 'degraded'],
    ['operating', undefined],
  ])('tells of the state %s as health: %s', async (state, health) => {
    kernel.add('fpga0');
    kernel.write('fpga0', 'state', state);
    expect((await start())?.health?.state).toBe(health);
  });

  it('offers no board to guests whose kernel takes no image', async () => {
    kernel.add('fpga0', { isMainline: true });
    host.tree.addFunction({ address: attach, vendor: '10ee', classCode: '120000' });
    expect(await start({ attach, blank_image: blank })).toBeUndefined();
    expect((await reasons())?.join()).toContain(
      'cannot be blanked after a guest: the kernel has no file firmware for it',
    );
  });

  it('offers no board that cannot be blanked after a guest', async () => {
    rmSync(blank);
    expect(await startAttached()).toBeUndefined();
    expect((await reasons())?.join()).toContain(
      `cannot be blanked after a guest: ${blank}: ENOENT`,
    );
  });
});

describe('programming by an FPGA manager', () => {
  beforeEach(async () => {
    kernel.add('fpga0');
    await start();
  });

  it.each([
    ['full', '0'],
    ['partial', '1'],
  ])(
    'writes a %s image with its flags, under its own name, and removes the file',
    async (images, flags) => {
      await start({ images });
      await write({ functionUuid: other, others: [aFunction], bitstream: 'the bits' });
      expect(kernel.at('fpga0').loaded).toEqual([{ flags, bytes: Buffer.from('the bits') }]);
      expect(readdirSync(kernel.firmware)).toEqual([]);
      expect((await device())?.regions[0]).toMatchObject({
        'bitstream-id': imageId,
        'function-uuid': other,
        'function-uuids': [aFunction],
      });
    },
  );

  it('knows the image of a board after a restart, and not after a boot', async () => {
    await write();
    expect((await start())?.regions[0]?.['bitstream-id']).toBe(imageId);
    expect((await start({}, 'second'))?.regions[0]?.['bitstream-id']).toBeUndefined();
  });

  it.each([
    ['ENOENT', 'firmware request error', undefined, '(firmware request error)'],
    ['EINVAL', 'write init error', undefined, '(write init error)'],
    [
      'EIO',
      'write complete error',
      'reconfig CRC error',
      '(write complete error, reconfig CRC error)',
    ],
  ])('tells of %s by the state of the manager', async (code, state, status, shown) => {
    await write();
    kernel.at('fpga0').fails = { code, state, ...(status && { status }) };
    await expect(write()).rejects.toThrow(`${code}: fpga0 did not take the image ${shown}`);
    expect(readdirSync(kernel.firmware)).toEqual([]);
    expect((await device())?.regions[0]?.['bitstream-id']).toBeUndefined();
  });

  it('fails unless the FPGA operates afterwards', async () => {
    kernel.at('fpga0').ends = 'write';
    await expect(write()).rejects.toThrow(
      'fpga0 does not operate after the image was written (write)',
    );
  });

  it.each([
    [{ interfaceUuid: other }, 'The image is for interface'],
    [Buffer.from('no image, but a text'), 'not a GBS file'],
    [{ keys: { 'clock-frequency-high': 100 } }, 'asks for a user clock'],
    [
      Buffer.concat([aGbs({ bitstream: '' }), Buffer.from('00090ff00ff00ff00ff00000', 'hex')]),
      '.bit file',
    ],
  ])('refuses an image that is not for the board %#', async (image, reason) => {
    await expect(write(image)).rejects.toThrow(reason);
    expect(kernel.at('fpga0').loaded).toEqual([]);
  });

  it('says that the folder of firmware cannot be written', async () => {
    rmSync(kernel.firmware, { recursive: true });
    await expect(write()).rejects.toThrow('ENOENT: ');
  });

  it('replaces what an agent has left that died', async () => {
    writeFileSync(join(kernel.firmware, 'cyborg-agent-fpga0.bin.part'), 'half');
    writeFileSync(join(kernel.firmware, 'cyborg-agent-fpga0.bin'), 'old');
    await write({ bitstream: 'new' });
    expect(kernel.at('fpga0').loaded[0]?.bytes.toString()).toBe('new');
    expect(readdirSync(kernel.firmware)).toEqual([]);
  });

  it('knows no other region and no other board', async () => {
    await expect(write({}, 'region1')).rejects.toThrow('has no region region1');
  });
});

describe('a board with a function for guests', () => {
  it('is neither programmed nor cleaned while a guest has the function', async () => {
    await startAttached();
    host.proc.addProcess(31, { comm: 'qemu', open: ['/dev/vfio/1'] });
    await expect(write()).rejects.toThrow(`The device at ${attach} is open: process 31 (qemu)`);
    await expect(clean()).rejects.toThrow(`The device at ${attach} is open: process 31 (qemu)`);
    expect(kernel.at('fpga0').loaded).toEqual([]);
  });

  it('is cleaned by the blank image, and has no function then', async () => {
    await startAttached();
    await write();
    expect(await clean()).toEqual({
      cleaned_by: 'blank image',
      function: aFunction,
      verified_by: 'state operating',
    });
    expect(kernel.at('fpga0').loaded.at(-1)?.bytes.toString()).toBe('nothing');
    expect((await device())?.regions[0]?.['function-uuid']).toBeUndefined();
  });
});

it('settings name each board and each function once', () => {
  const twice = { ...board, attach, blank_image: '/blank' };
  const { error } = fpgaManagerSettings.safeParse({ boards: [twice, twice] });
  expect(error?.issues.map((each) => each.message)).toEqual([
    'duplicate board: fpga0',
    `duplicate function: ${attach}`,
  ]);
});
