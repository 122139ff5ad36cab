import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Driver, HandleWork, RegionImage } from '#agent/drivers/contract/driver.ts';
import { createFakeFpgaDriver } from '#agent/drivers/fake/fpga.ts';
import { createFakeGpuDriver } from '#agent/drivers/fake/gpu.ts';
import { reportedDevice } from '#core/contracts/report/inventory-report.ts';
import { aFunction, aGbs } from '#test/support/hosts/gbs.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const directory = directoryPerTest();
const gpu = '0000:0e:00.0';
const fpga = '0000:0d:00.0';
const aGpu = (bootId = 'boot-1') => createFakeGpuDriver({ directory, bootId });
const anFpga = (bootId = 'boot-1') => createFakeFpgaDriver({ directory, bootId });
const mdev = (number: number, type = 'fake-1') => ({
  address: gpu,
  uuid: `uuid-${number}`,
  type: 'MDEV' as const,
  info: { asked_type: type },
});

/** The parts of a driver that the fake GPU has. */
const calls = ({ find, prepare, clean }: Driver) => ({
  find: async (handle: HandleWork) => find?.(handle),
  create: async (handle: HandleWork) => prepare?.(handle),
  remove: async (handle: HandleWork) => clean?.(handle, () => {}),
});

async function counts(driver = aGpu()) {
  const device = (await driver.discover()).devices[gpu];
  expect(reportedDevice.parse(device)).toEqual(device);
  return device?.regions.map(({ name, num_accelerators: count }) => `${count} ${name}`);
}

describe('the fake GPU', () => {
  it('has two types that share one pool', async () => {
    const driver = calls(aGpu());
    expect(await counts()).toEqual(['4 fake-1', '2 fake-2']);
    await driver.create(mdev(1));
    expect(await counts()).toEqual(['4 fake-1', '1 fake-2']);
    await driver.create(mdev(2, 'fake-2'));
    expect(await counts()).toEqual(['2 fake-1', '1 fake-2']);
    await driver.create(mdev(3));
    await expect(driver.create(mdev(4))).rejects.toMatchObject({ code: 'ENOSPC' });
    await driver.remove(mdev(2));
    expect(await counts()).toEqual(['4 fake-1', '1 fake-2']);
  });

  it('names each handle as the vGPU specification does', async () => {
    const [region] = (await aGpu().discover()).devices[gpu]?.regions ?? [];
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
      prepare: 'at-bind',
      clean_seconds: 300,
    });
  });

  it('fails like a kernel', async () => {
    const driver = calls(aGpu());
    await driver.create(mdev(1));
    await expect(driver.create(mdev(1))).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(driver.create(mdev(2, 'x'))).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(driver.remove(mdev(2))).rejects.toMatchObject({ code: 'ENODEV' });
  });

  it('fails on request', async () => {
    writeFileSync(join(directory, 'faults.json'), '{"fail":{"prepare":"EIO"}}');
    await expect(calls(aGpu()).create(mdev(1))).rejects.toMatchObject({ code: 'EIO' });
    expect(await calls(aGpu()).find(mdev(1))).toEqual({ state: 'absent' });
  });
});

describe('the fake FPGA', () => {
  const imageId = '5e0b3d49-2f0c-4b0b-8c0c-b0b0c0ffee00';
  const write = async (image: RegionImage) => anFpga().images?.write(image, () => {});
  const regionOf = async (bootId?: string) => {
    const device = (await anFpga(bootId).discover()).devices[fpga];
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
    await write(work());
    expect(await regionOf()).toMatchObject({
      'bitstream-id': imageId,
      'function-uuid': aFunction,
    });
    expect(await regionOf('boot-2')).not.toHaveProperty('function-uuid');
  });

  it('has no function after a partial program', async () => {
    await write(work());
    writeFileSync(join(directory, 'faults.json'), '{"fail":{"program":"ETIMEDOUT"}}');
    await expect(write(work())).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    expect(await regionOf()).not.toHaveProperty('function-uuid');
  });

  it.each([{ address: gpu }, { region: 'region1' }])('programs nothing at %j', async (given) => {
    await expect(write(work(given))).rejects.toThrow('ENODEV');
  });
});
