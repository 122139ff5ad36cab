import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFakeFpgaDriver } from '#agent/drivers/fake-fpga.ts';
import { createFakeGpuDriver } from '#agent/drivers/fake-gpu.ts';
import { reportedDevice } from '#core/contracts/inventory-report.ts';
import { aFunction, aGbs } from '#test/support/gbs.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hardware-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const gpu = '0000:0e:00.0';
const fpga = '0000:0d:00.0';
const aGpu = (bootId = 'boot-1') => createFakeGpuDriver({ directory, bootId });
const anFpga = (bootId = 'boot-1') => createFakeFpgaDriver({ directory, bootId });
const mdev = (number: number, type = 'fake-1') => ({ address: gpu, type, uuid: `uuid-${number}` });

async function counts(driver = aGpu()) {
  const device = (await driver.discover())[gpu];
  expect(reportedDevice.parse(device)).toEqual(device);
  return device?.regions.map(({ name, num_accelerators: count }) => `${count} ${name}`);
}

describe('the fake GPU', () => {
  it('has two types that share one pool', async () => {
    const driver = aGpu();
    expect(await counts()).toEqual(['4 fake-1', '2 fake-2']);
    await driver.createMdev(mdev(1));
    expect(await counts()).toEqual(['4 fake-1', '1 fake-2']);
    await driver.createMdev(mdev(2, 'fake-2'));
    expect(await counts()).toEqual(['2 fake-1', '1 fake-2']);
    await driver.createMdev(mdev(3));
    await expect(driver.createMdev(mdev(4))).rejects.toMatchObject({ code: 'ENOSPC' });
    await driver.removeMdev(mdev(2));
    expect(await counts()).toEqual(['4 fake-1', '1 fake-2']);
  });

  it('names each handle as the vGPU specification does', async () => {
    const [region] = (await aGpu().discover())[gpu]?.regions ?? [];
    expect(region?.traits).toEqual(['CUSTOM_ABCD_9B01_FAKE_1']);
    expect(region?.attach_handles[3]).toEqual({
      type: 'MDEV',
      info: {
        domain: '0000',
        bus: '0e',
        device: '00',
        function: '0',
        asked_type: 'fake-1',
        vgpu_mark: 'fake-1_3',
      },
    });
  });

  it('fails like a kernel', async () => {
    const driver = aGpu();
    await driver.createMdev(mdev(1));
    await expect(driver.createMdev(mdev(1))).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(driver.createMdev(mdev(2, 'x'))).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(driver.removeMdev(mdev(2))).rejects.toMatchObject({ code: 'ENODEV' });
  });

  it('keeps its mdevs while the agent restarts, and loses them when the host reboots', async () => {
    await aGpu().createMdev(mdev(1));
    expect(await aGpu().listMdevs()).toEqual([mdev(1)]);
    expect(await aGpu('boot-2').listMdevs()).toEqual([]);
  });

  it('fails on request', async () => {
    writeFileSync(join(directory, 'faults.json'), '{"fail":{"create-mdev":"EIO"}}');
    await expect(aGpu().createMdev(mdev(1))).rejects.toMatchObject({ code: 'EIO' });
    expect(await aGpu().listMdevs()).toEqual([]);
  });
});

describe('the fake FPGA', () => {
  const imageId = '5e0b3d49-2f0c-4b0b-8c0c-b0b0c0ffee00';
  const regionOf = async (bootId?: string) => {
    const device = (await anFpga(bootId).discover())[fpga];
    expect(reportedDevice.parse(device)).toEqual(device);
    return device?.regions[0];
  };
  function work(given: object = {}) {
    const imagePath = join(directory, 'image');
    writeFileSync(imagePath, aGbs());
    return { address: fpga, region: 'region0', imageId, imagePath, ...given };
  }

  it('has one region, which has the function of its image until the host reboots', async () => {
    expect(await regionOf()).not.toHaveProperty('function-uuid');
    await anFpga().program(work(), () => {});
    expect(await regionOf()).toMatchObject({
      'bitstream-id': imageId,
      'function-uuid': aFunction,
    });
    expect(await regionOf('boot-2')).not.toHaveProperty('function-uuid');
  });

  it('has no function after a partial program', async () => {
    await anFpga().program(work(), () => {});
    writeFileSync(join(directory, 'faults.json'), '{"fail":{"program":"ETIMEDOUT"}}');
    await expect(anFpga().program(work(), () => {})).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    expect(await regionOf()).not.toHaveProperty('function-uuid');
  });

  it.each([{ address: gpu }, { region: 'region1' }])('programs nothing at %j', async (given) => {
    await expect(anFpga().program(work(given), () => {})).rejects.toThrow('ENODEV');
  });
});
