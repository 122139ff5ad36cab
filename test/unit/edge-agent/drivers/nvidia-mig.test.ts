// GPU instances of driver `nvidia_gpu`: missing ones are made on a card without vGPUs, whatever
// happens meanwhile, and none is removed.

import { beforeEach, describe, expect, it } from 'vitest';
import { createNvidiaDriver } from '#agent/drivers/nvidia/index.ts';
import { parseInstances } from '#agent/drivers/nvidia/mig.ts';
import { nvidiaSettings } from '#agent/drivers/nvidia/settings.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import { setUp } from '#agent/process/set-up.ts';
import { GpuInstances } from '#test/drivers/nvidia/gpu-instances.ts';
import { VendorVgpuKernel } from '#test/drivers/nvidia/kernel.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { directoryPerTest, perTest } from '#test/support/vitest/shared.ts';

const card = '0000:41:00.0';
const types = { 1147: ['NVIDIA A100-3-20C', 2] } as const;
const host = perTest(aGuardedHost);
const directory = directoryPerTest();
let kernel: VendorVgpuKernel;
let instances: GpuInstances;

beforeEach(() => {
  kernel = new VendorVgpuKernel(host.tree).addCard(card, { memory: 4, types }, 2);
  kernel.enable(card);
  instances = new GpuInstances(2);
});

async function setUpCard(profiles = [9, 9]) {
  const cards = [{ addresses: card, vgpu_type: 'nvidia-1147', gpu_instances: profiles }];
  const settings = nvidiaSettings.parse({ cards, attach_unmanaged: true });
  const exec = instances.exec(kernel.hardware().exec);
  const hardware = { ...host.hardware, ...kernel.hardware(), exec };
  const driver = createNvidiaDriver(settings, await host.context({ directory, hardware }));
  return (await setUp(driver, host.log)).left.join('\n');
}

const made = () => [...instances.made.values()].flat();

describe('GPU instances', () => {
  it('are made once, and the types of vGPUs after them', async () => {
    expect(await setUpCard()).toBe('');
    expect(made()).toEqual([9, 9]);
    expect(Object.values(kernel.types())).toEqual(['1147', '1147']);
    expect(await setUpCard()).toBe('');
    expect(instances.changes).toEqual([`${card} 9,9`]);
  });

  it.each([0, 1])('are completed after a power loss when %i were made', async (count) => {
    instances.powerLost = count;
    expect(await setUpCard()).toContain('The power is lost');
    expect(kernel.types()).toEqual({});
    instances.powerLost = undefined;
    expect(await setUpCard()).toBe('');
    expect(made()).toEqual([9, 9]);
    expect(instances.changes.at(-1)).toBe(`${card} ${count === 0 ? '9,9' : '9'}`);
  });

  it.each<[string, () => void, string]>([
    [
      'other instances',
      () => void instances.made.set(card, [9, 19]),
      'has GPU instances that its entry lacks: 19',
    ],
    ['a vGPU', () => kernel.set('0000:41:00.1', '1147'), 'has vGPUs'],
    [
      'a mediated device',
      () => {
        const entry = 'bus/mdev/devices/4b20d080-1b54-4048-85b3-a6a62d165c01';
        const path = host.addEntry(entry, card, '4b20d080-1b54-4048-85b3-a6a62d165c01');
        host.tree.link(`${path}/mdev_type`, 'types/nvidia-558');
      },
      'has vGPUs',
    ],
    [
      'a server of libvirt',
      () => void host.domains.define('instance-0000001f', [card]),
      'instance-0000001f',
    ],
  ])('are not made on a card with %s', async (_case, begin, why) => {
    begin();
    const before = made();
    expect(await setUpCard()).toContain(why);
    expect(made()).toEqual(before);
    expect(instances.changes).toEqual([]);
  });

  it('that do not fit are refused with the words of nvidia-smi', async () => {
    expect(await setUpCard([9, 9, 9])).toContain('-cgi ended with 19: Unable to create');
    expect(await setUpCard([9, 9])).toBe('');
  });

  it.each<[string, string, number, string]>([
    ['without MIG', 'No MIG-enabled devices found.\n', 6, 'ended with 6: No MIG-enabled'],
    ['that prints nothing', '', 0, 'printed what is not valid'],
    ['that prints another table', '| GPU instances: |\n', 0, 'printed what is not valid'],
  ])('are not made by an nvidia-smi %s', async (_case, stdout, exitCode, why) => {
    instances.listed = { exitCode, stdout, stderr: '' };
    expect(await setUpCard()).toContain(why);
    expect(instances.changes).toEqual([]);
  });

  it('are not made by an nvidia-smi that hangs', async () => {
    instances.exec = () => async () => {
      throw new HardwareError('ETIMEDOUT', `${card}: no answer within 10 s`);
    };
    expect(await setUpCard()).toContain('no answer within 10 s');
  });

  it('are for vGPUs, by ids of profiles', () => {
    const faults = (given: object) =>
      JSON.stringify(ownDriver('nvidia_gpu').configure({ cards: [{ addresses: card, ...given }] }));
    expect(faults({ gpu_instances: [9] })).toContain('is for vGPUs, with a vgpu_type');
    const vgpus = { vgpu_type: 'nvidia-1147' };
    expect(faults({ ...vgpus, gpu_instances: ['3g.20gb'] })).toContain('the id of a profile');
    expect(faults({ ...vgpus, gpu_instances: [] })).toContain('must list ids of profiles');
  });

  it('of two cards, or with text between them, are no list of one card', async () => {
    instances.made.set(card, [9, 9]);
    const exec = instances.exec(kernel.hardware().exec);
    const { stdout } = await exec(card, '/usr/bin/nvidia-smi', ['mig', '-i', card, '-lgi']);
    expect(parseInstances(stdout)).toEqual([9, 9]);
    expect(parseInstances(stdout.replace('|   0  MIG', '|   1  MIG'))).toBeUndefined();
    expect(parseInstances(`Warning: reboot.\n${stdout}`)).toBeUndefined();
    expect(parseInstances(`${stdout}9\n`)).toBeUndefined();
  });
});
