import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { findIndex, parseAccelerator, parseMemory } from '#agent/drivers/gpu-vf/gim.ts';
import { gpuVfSettings } from '#agent/drivers/gpu-vf/settings.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import { aGpuVfHost, gpu } from '#test/drivers/gpu-vf/host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const gibibyte = 2 ** 30;
const quantum = 'sriov_admin/vfN/profile/exec_quantum_ms';
const memory = 'sriov_admin/vfN/profile/vram_quota';

const on = perTest(aGpuVfHost);
const two = { addresses: gpu, virtual_functions: 2 };

/** The driver after a set-up that leaves nothing. */
async function ready(cards: object) {
  const driver = await on.driver(cards);
  expect((await driver.setUp()).left).toEqual([]);
  return driver;
}

/** The driver after its first discovery, too. */
async function offering(cards: object) {
  const driver = await ready(cards);
  await driver.discover();
  return driver;
}

describe('virtual functions of xe', () => {
  beforeEach(() => void on.kernel.add('xe', { address: gpu }));

  it('are made with the share of the settings, and offered with the names of vGPUs', async () => {
    const profile = { vram_mib: 4095, exec_quantum_ms: 20, sched_priority: 'normal' };
    const driver = await ready({ ...two, profile, name: 'half', traits: ['CUSTOM_VDI'] });
    // Rounded up by the kernel.
    expect(on.kernel.shares(gpu, memory)).toEqual([`${4 * gibibyte}`, `${4 * gibibyte}`]);
    expect(on.kernel.writes.at(-1)).toBe('sriov_admin/.bulk_profile/sched_priority normal');
    const { device, handles } = await driver.discover();
    expect(device).toMatchObject({
      driver: 'gpu_vf',
      type: 'GPU',
      model: 'Intel Arc Pro B60',
      attributes: { profile: 'half', vram_mib: '4096', exec_quantum_ms: '20' },
      offers: { resource_class: 'VGPU', pool: 'half' },
    });
    expect(device?.offers?.traits).toEqual([
      ...['CUSTOM_8086_E211_HALF', 'CUSTOM_INTEL_E211_HALF'],
      ...['CUSTOM_PCI_INTEL', 'CUSTOM_PCI_PRODUCT_ID_E211', 'CUSTOM_VDI'],
    ]);
    expect(
      handles.map(({ type, info, clean_seconds }) => [type, info.function, clean_seconds]),
    ).toEqual([
      ['PCI', '1', 150],
      ['PCI', '2', 150],
    ]);
    expect(await driver.plan()).toEqual([]);
  });

  it('have the fair share of the kernel where the settings give none', async () => {
    const driver = await ready(two);
    expect(on.kernel.writes).toEqual([]);
    const { device, handles } = await driver.discover();
    expect(device?.attributes).toMatchObject({ profile: '2VF', vram_mib: '8192' });
    expect(handles).toHaveLength(2);
  });

  it('are not offered while one has another share than the first', async () => {
    const driver = await ready(two);
    on.host.tree.write(`${on.host.tree.pathOf(gpu)}/${memory.replace('N', '2')}`, '4096\n');
    const { handles, reasons } = await driver.discover();
    expect(handles.map(({ info }) => info.function)).toEqual(['1']);
    expect(reasons).toEqual(['has vram_mib 4096 and 8589934592 on its virtual functions']);
    on.host.tree.write(`${on.host.tree.pathOf(gpu)}/${memory.replace('N', '1')}`, '0\n');
    expect((await (await on.driver(two)).discover()).device?.health?.reason).toBe(
      'has no vram_mib of virtual function 1',
    );
  });

  it('are not made after a write without an effect', async () => {
    on.kernel.ignored = 'exec_quantum_ms';
    const driver = await on.driver({ ...two, profile: { exec_quantum_ms: 20 } });
    const { left } = await driver.setUp();
    expect(left.join()).toContain(
      'it has exec_quantum_ms of virtual function 1 0, not 20 after the write',
    );
    expect(on.kernel.shares(gpu, quantum)).toEqual([]);
  });

  it('get their time again when xe has set another while it made them', async () => {
    on.kernel.setsScheduling = true;
    await ready({ ...two, profile: { exec_quantum_ms: 20 } });
    expect(on.kernel.shares(gpu, quantum)).toEqual(['20', '20']);
  });

  it('stay with a share that another program has changed, and their card is degraded', async () => {
    const driver = await offering({ ...two, profile: { vram_mib: 4096 } });
    on.host.tree.write(`${on.host.tree.pathOf(gpu)}/${memory.replace('N', '2')}`, '4096\n');
    const { device, handles } = await driver.discover();
    expect(handles).toHaveLength(2);
    expect(device?.health).toMatchObject({
      state: 'degraded',
      reason: 'has vram_mib of virtual function 2 4096, not 4294967296',
    });
    expect(await driver.plan()).toMatchObject([
      { what: 'profile of virtual functions', refusal: '0000:3b:00.1 is offered to guests' },
    ]);
  });

  it.each([
    ['their card', gpu],
    ['one of them', '0000:3b:00.1'],
  ])('stay after the uevent of %s could not be read once', async (_, unread) => {
    const one = { ...two, virtual_functions: 1 };
    const driver = await ready({ ...one, profile: { vram_mib: 4096 } });
    expect((await driver.discover()).handles).toHaveLength(1);
    const file = join(on.host.tree.root, on.host.tree.pathOf(unread), 'uevent');
    const text = readFileSync(file);
    writeFileSync(file, '');
    expect((await driver.discover()).handles).toEqual([]);
    writeFileSync(file, text);
    // A guest that is stopped has nothing open.
    const changed = await on.driver({ ...one, profile: { vram_mib: 2048 } });
    expect((await changed.setUp()).left.join()).toContain('0000:3b:00.1 is offered to guests');
    expect(on.kernel.shares(gpu, memory)).toEqual([`${4 * gibibyte}`]);
  });

  it('keep their time while a guest has one of them open', async () => {
    const driver = await offering({ ...two, profile: { exec_quantum_ms: 20 } });
    on.host.tree.write(`${on.host.tree.pathOf(gpu)}/${quantum.replace('N', '1')}`, '64\n');
    on.host.openVfio('0000:3b:00.1');
    expect(await driver.plan()).toMatchObject([
      { what: 'scheduling of virtual functions', refusal: expect.stringContaining('is open') },
    ]);
    on.host.proc.addProcess(31, { comm: 'qemu' });
    rmSync(join(on.host.proc.root, '31/fd'), { recursive: true });
    expect((await driver.setUp()).left).toEqual([]);
    expect(on.kernel.shares(gpu, quantum)).toEqual(['20', '20']);
  });

  it('are replaced, with their shares, where there is another number of them', async () => {
    await (await on.driver({ ...two, virtual_functions: 3 })).setUp();
    await ready({ ...two, profile: { vram_mib: 2048 } });
    expect(on.kernel.shares(gpu, memory)).toEqual([`${2 * gibibyte}`, `${2 * gibibyte}`]);
  });

  it('take no profile from a kernel without files for it, and are made without one', async () => {
    rmSync(join(on.host.tree.root, on.host.tree.pathOf(gpu), 'sriov_admin'), { recursive: true });
    const { left } = await (await on.driver({ ...two, profile: { vram_mib: 4096 } })).setUp();
    expect(left.join()).toContain('the card takes no vram_mib: xe has no files for it');
  });
});

it('virtual functions of xe are not made where their share does not fit', async () => {
  on.kernel.add('xe', { address: gpu }, { total: 8 });
  const given = { addresses: gpu, virtual_functions: 8, profile: { vram_mib: 4096 } };
  const driver = await on.driver(given);
  const { left } = await driver.setUp();
  expect(left.join()).toMatch(/^The profile of virtual functions of 0000:3b:00.0 .*EIO/);
  expect(on.kernel.shares(gpu, memory)).toEqual([]);
  expect((await driver.discover()).reasons).toEqual(['has no virtual functions, not 8']);
});

describe('virtual functions of i915', () => {
  const quotas = { vram_mib: 4096, ggtt_mib: 256, contexts: 1024, doorbells: 60 };
  const quota = (name: string) => `drm/card1/prelim_iov/vfN/gt/${name}_quota`;

  it('have all quotas of the settings', async () => {
    on.kernel.add('i915', { address: gpu });
    const driver = await ready({ ...two, profile: { ...quotas, exec_quantum_ms: 16 } });
    expect(on.kernel.shares(gpu, quota('contexts'))).toEqual(['1024', '1024']);
    expect(on.kernel.shares(gpu, quota('ggtt'))).toEqual(['268435456', '268435456']);
    expect((await driver.discover()).handles).toHaveLength(2);
  });

  it('are not made with some of the quotas', async () => {
    on.kernel.add('i915', { address: gpu });
    const { left } = await (await on.driver({ ...two, profile: { vram_mib: 4096 } })).setUp();
    expect(left.join()).toContain('needs ggtt_mib in its profile: i915 takes all quotas, or none');
    expect(on.kernel.writes).toEqual([]);
  });

  it('of a card with several tiles have no quotas of the settings, and one time for all', async () => {
    on.kernel.add('i915', { address: gpu });
    const { tree } = on.host;
    for (const number of [1, 2, 3, 4]) {
      for (const tile of ['gt0', 'gt1']) {
        const folder = `${tree.pathOf(gpu)}/drm/card1/prelim_iov/vf${number}/${tile}`;
        tree.write(`${folder}/exec_quantum_ms`, '0\n').write(`${folder}/lmem_quota`, '0\n');
      }
    }
    const { left } = await (await on.driver({ ...two, profile: quotas })).setUp();
    expect(left.join()).toContain('has several tiles: leave the quotas out');
    await (await on.driver({ ...two, profile: { exec_quantum_ms: 8 } })).setUp();
    const written = on.kernel.writes.map((each) => each.split('/').slice(3).join('/'));
    expect(written).toEqual([
      ...['vf1/gt/exec_quantum_ms 8', 'vf2/gt/exec_quantum_ms 8'],
      ...['vf1/gt0/exec_quantum_ms 8', 'vf2/gt0/exec_quantum_ms 8'],
      ...['vf1/gt1/exec_quantum_ms 8', 'vf2/gt1/exec_quantum_ms 8'],
    ]);
  });
});

describe('virtual functions of gim', () => {
  it('are as many as its parameter says, and their number is never written', async () => {
    on.kernel.add('gim', { address: gpu }, { total: 1 });
    const driver = await on.driver({ addresses: gpu, virtual_functions: 8 });
    expect((await driver.setUp()).left.join()).toContain(
      'its driver gim makes them when it is loaded: set its parameter vf_num to 8',
    );
    expect((await driver.discover()).reasons).toEqual(['has 1 virtual functions, not 8']);
  });

  it('are offered after gim has applied the partitions', async () => {
    on.kernel.add('gim', { address: gpu });
    const profile = { memory_partition: 'NPS4', accelerator_partition: 'CPX' };
    const driver = await ready({ addresses: gpu, virtual_functions: 4, profile });
    expect(on.kernel.writes).toEqual([
      'memory_partition_mode NPS4',
      // The index in the card's own list.
      'accelerator_partition_profile 2',
    ]);
    const { device, handles } = await driver.discover();
    expect(handles).toHaveLength(4);
    expect(device?.attributes).toMatchObject({ memory_partition: 'NPS4', kernel_driver: 'gim' });
    expect(device?.offers?.traits).toContain('CUSTOM_AMD_74A1_4VF');
  });

  it('are not offered while gim, which reports success, has not applied them', async () => {
    on.kernel.add('gim', { address: gpu });
    on.kernel.ignored = 'memory_partition_mode';
    const profile = { memory_partition: 'NPS4' };
    const driver = await on.driver({ addresses: gpu, virtual_functions: 4, profile });
    expect((await driver.setUp()).left.join()).toContain('gim has not applied NPS4');
    expect((await driver.discover()).handles).toEqual([]);
  });

  it('keep their partition while a function of any card of gim is offered', async () => {
    on.kernel.add('gim', { address: gpu }).add('gim', { address: '0000:5e:00.0' });
    const given = { addresses: '0000:5e:00.0', virtual_functions: 4 };
    const first = await on.driver(given);
    await first.setUp();
    await first.discover();
    const four = { addresses: gpu, virtual_functions: 4, profile: { memory_partition: 'NPS4' } };
    expect((await (await on.driver([given, four])).setUp()).left.join()).toContain(
      '0000:5e:00.1 is offered to guests',
    );
  });

  it('are read from the texts of gim', () => {
    expect(parseMemory('memory_partition_mode: NPS2\nnuma_count: 2')).toBe('NPS2');
    expect(parseMemory('failed to get current mp mode')).toBeUndefined();
    expect(parseAccelerator('profile_index  profile_type\n0    DPX    2    5    [[0 1 ]]')).toBe(
      'DPX',
    );
    expect(parseAccelerator('failed to get current accelerator partition profile')).toBeUndefined();
    expect(findIndex('profiles:\nprofile_index\n0   SPX   1  NPS1\n1   CPX   8  NPS4', 'CPX')).toBe(
      '1',
    );
    expect(findIndex('resource_profiles:\n1   CPX   8  NPS4', 'CPX')).toBeUndefined();
  });
});

describe('health', () => {
  beforeEach(() => void on.kernel.add('xe', { address: gpu }));

  it.each([
    ['survivability_mode', 'Survivability mode type: Runtime', 'unhealthy', /survivability mode/],
    ['gpu_health', 'critical', 'unhealthy', /gpu_health critical/],
    ['gpu_health', 'warning', 'degraded', /gpu_health warning/],
    ['aer_dev_fatal', 'DLP 1\nTOTAL_ERR_FATAL 1', 'unhealthy', /1 fatal PCIe errors/],
    ['aer_dev_nonfatal', 'TLP 2\nTOTAL_ERR_NONFATAL 2', 'degraded', /2 uncorrectable/],
  ])('is told of %s %j', async (file, text, state, reason) => {
    const driver = await ready(two);
    expect((await driver.discover()).device?.health).toBeUndefined();
    on.host.tree.write(`${on.host.tree.pathOf(gpu)}/${file}`, `${text}\n`);
    const { health } = (await driver.discover()).device ?? {};
    expect(health).toMatchObject({ state, reason: expect.stringMatching(reason) });
    const cleaned = driver.clean('1').then(() => 'cleaned', String);
    expect(await cleaned).toMatch(state === 'unhealthy' ? reason : /^cleaned$/);
  });
});

describe('a function is cleaned', () => {
  beforeEach(() => void on.kernel.add('xe', { address: gpu }));

  it('not while the health that its card tells cannot be read', async () => {
    const hardware = on.kernel.hardware();
    on.kernel.hardware = () => ({
      ...hardware,
      readText: async (device, path) => {
        if (path.endsWith('/gpu_health')) throw new HardwareError('ETIMEDOUT', 'no answer');
        return hardware.readText(device, path);
      },
    });
    const driver = await offering(two);
    on.host.tree.write(`${on.host.tree.pathOf(gpu)}/gpu_health`, 'ok\n');
    await expect(driver.clean('1')).rejects.toThrow('ETIMEDOUT: no answer');
    expect((await driver.discover()).device?.health).toMatchObject({
      state: 'degraded',
      reason: 'has an unknown health (ETIMEDOUT: no answer)',
    });
  });

  it('by a reset, and its share is read again', async () => {
    const driver = await offering({ ...two, profile: { vram_mib: 4096, exec_quantum_ms: 20 } });
    expect(await driver.clean('2')).toMatchObject({
      cleaned_by: 'reset',
      reset_method: 'flr',
      virtual_function: 2,
      shares_verified: 2,
    });
  });

  it('not with another share after the reset, or after its card fell off the bus', async () => {
    const driver = await offering({ ...two, profile: { vram_mib: 4096 } });
    on.host.tree.write(`${on.host.tree.pathOf(gpu)}/${memory.replace('N', '1')}`, '4096\n');
    await expect(driver.clean('1')).rejects.toThrow(/vram_mib .* 4096, not 4294967296, after/);
    await expect(driver.clean('7')).rejects.toThrow('is no longer there');
    on.kernel.remove(gpu);
    await expect(driver.clean('1')).rejects.toThrow('is not offered any more');
    expect((await driver.discover()).reasons).toEqual(['is not on this host']);
  });
});

describe('a card', () => {
  it('of another vendor, or a function of one, is not divided', async () => {
    on.host.tree.addFunction({ address: gpu, driver: 'nvidia', sriovTotalvfs: 4 });
    on.host.tree.addVirtualFunctions(gpu, 1);
    const driver = await on.driver({ ...two, addresses: [gpu, '0000:3b:00.1'] });
    expect(await driver.plan()).toEqual([]);
    expect((await driver.discover()).reasons).toEqual([
      'is of vendor 10de, and not of Intel (8086) or AMD (1002)',
      'is a virtual function: name its card, 0000:3b:00.0',
    ]);
  });

  it('whose files cannot be read is neither changed nor offered', async () => {
    on.kernel.add('xe', { address: gpu });
    await ready({ ...two, profile: { exec_quantum_ms: 20 } });
    const failing = async () => {
      throw new HardwareError('EIO', 'exec_quantum_ms');
    };
    on.kernel.hardware = () => ({ readText: failing, writeText: failing });
    const again = await on.driver({ ...two, profile: { exec_quantum_ms: 20 } });
    expect(await again.plan()).toMatchObject([{ refusal: 'it cannot be read' }]);
    expect((await again.discover()).handles).toEqual([]);
  });
});

it('settings may bind functions to the VFIO driver of xe', () => {
  const given = { cards: [{ ...two, bind_to: 'xe-vfio-pci' }] };
  expect(gpuVfSettings.parse(given).cards[0]?.bind_to).toBe('xe-vfio-pci');
});
