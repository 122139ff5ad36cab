import { describe, expect, it } from 'vitest';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const address = '0000:c1:00.0';
const host = perTest(aGuardedHost);

const check = () => host.check(address);

describe("a node of a vendor's kernel driver, whose device sysfs does not tell", () => {
  const ids = {
    habanalabs: { vendor: '1da3', product: '1020' },
    devdrv_device_driver: { vendor: '19e5', product: 'd802' },
    neuron: { vendor: '1d0f', product: '7364' },
    amdgpu: { vendor: '1002', product: '74a1' },
    apex: { vendor: '1ac1', product: '089a' },
    'a driver of Cambricon': { vendor: 'cabc', product: '0370' },
    'a driver of Baidu': { vendor: '1d22', product: '3684' },
  } as const;
  const put = (driver: keyof typeof ids | 'vfio-pci', given: keyof typeof ids) =>
    host.tree.addFunction({
      address,
      iommuGroup: 12,
      driver,
      classCode: '120000',
      ...ids[given],
    });

  it.each([
    ['/dev/hl0', 'habanalabs'],
    ['/dev/hl_controlD0', 'habanalabs'],
    ['/dev/accel/accel0', 'habanalabs'],
    ['/dev/accel/accel_controlD0', 'habanalabs'],
    ['/dev/davinci3', 'devdrv_device_driver'],
    ['/dev/davinci_manager', 'devdrv_device_driver'],
    ['/dev/devmm_svm', 'devdrv_device_driver'],
    ['/dev/neuron0', 'neuron'],
    ['/dev/kfd', 'amdgpu'],
    ['/dev/apex_0', 'apex'],
    ['/dev/cambricon_dev0', 'a driver of Cambricon'],
    ['/dev/xpu1', 'a driver of Baidu'],
  ] as const)('refuses each function on the driver: %s', async (node, driver) => {
    put(driver, driver);
    expect(await check()).toBeUndefined();
    host.proc.addProcess(31, { comm: 'python3', open: [node] });
    expect(await check()).toBe(`is open: process 31 (python3) uses ${node}`);
  });

  it('refuses no function on the driver of VFIO', async () => {
    put('vfio-pci', 'neuron');
    host.proc.addProcess(31, { open: ['/dev/neuron0'] });
    expect(await check()).toBeUndefined();
  });

  it('refuses the device alone where sysfs tells it', async () => {
    put('habanalabs', 'habanalabs');
    const other = '0000:c2:00.0';
    host.tree.addFunction({ address: other, iommuGroup: 13, driver: 'habanalabs' });
    host.addNode('accel/accel1', other);
    host.proc.addProcess(31, { open: ['/dev/accel/accel1'] });
    expect(await check()).toBeUndefined();
  });
});

describe('a kernel driver with device nodes that no guard knows', () => {
  const unknown =
    'may be in use: the guards do not know the device nodes of its kernel driver npu_drv; ' +
    'unbind it, or name it in unguarded_kernel_drivers';
  const bound = (driver: string | undefined, classCode = '120000') =>
    host.tree.addFunction({ address, iommuGroup: 12, classCode, driver });

  it.each(['120000', '0b4000', '088000', 'ff0000', '030200'])(
    'refuses a function of class %s that is bound to it',
    async (classCode) => {
      bound('npu_drv', classCode);
      expect(await check()).toBe(unknown);
      expect(await host.recheck(address)).toBe(unknown);
    },
  );

  it.each([undefined, 'vfio-pci', 'mlx5_vfio_pci', 'pci-stub'])(
    'is none of those that programs of the host do not use: %s',
    async (driver) => {
      bound(driver);
      expect(await check()).toBeUndefined();
    },
  );

  it('is none of the classes whose users are seen without their nodes', async () => {
    bound('npu_drv', '010802');
    expect(await check()).toBeUndefined();
  });

  it.each(['drm', 'accel'])('is seen by the nodes of class %s where it has some', async (name) => {
    bound('npu_drv');
    host.addEntry(`class/${name}/x0`, address, `${name}/x0`);
    expect(await check()).toBeUndefined();
  });

  it('refuses nothing if the operator names it', async () => {
    bound('npu_drv');
    host.unguardedDrivers.push('npu_drv');
    expect(await check()).toBeUndefined();
  });
});
