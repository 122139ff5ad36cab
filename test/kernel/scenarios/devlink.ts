// Programs of a network card's firmware through the kernel's devlink and its loader of firmware,
// by Debian's iproute2. A driver of this suite stands for the card's: what it is given is the
// version that the card stores, and runs after a reload or the next power cycle.

import assert from 'node:assert/strict';
import type { Group, Scenario } from '#test/kernel/scenario.ts';
import {
  componentDevice,
  passImages,
  passPowerCycle,
  programComponent,
  untilInventory,
  untilProducts,
  untilProgram,
} from '#test/kernel/servers.ts';
import type { Stage } from '#test/kernel/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

const hostname = 'kernel-devlink.example';
const card = '0001:00:00.0';
const folders = '/sys/module/firmware_class/parameters/path';
const withinSeconds = 120;

/** What the flash of the card holds at a boot, and whether the driver has no reload for it. */
const flash = { version: '1.0', fixed: 'N' };

async function startAgent(stage: Stage, runsAfter: 'reload' | 'power-cycle'): Promise<void> {
  const components = [{ name: 'fw', version: 'fw.mgmt', runs_after: runsAfter }];
  const functions = {
    virtual_functions: 2,
    bind_to: 'vfio-pci',
    clean: 'reset',
    resource_class: 'CUSTOM_SMARTNIC',
  };
  await stage.startAgent({
    drivers: ['nic'],
    image_source: await passImages(stage),
    nic: { cards: [{ addresses: card, ...functions, components }] },
  });
}

async function program(stage: Stage, version: string, content = `${version}\n`): Promise<void> {
  await programComponent(stage, 'fw', { models: '15b3:101d', version, content });
}

async function shown({ guest }: Stage): Promise<unknown> {
  const text = await guest.run('/usr/sbin/devlink', '-j', 'dev', 'info', `pci/${card}`);
  return (JSON.parse(text) as { info: Record<string, unknown> }).info[`pci/${card}`];
}

/** The reloads that the driver offers. */
async function reloads({ guest }: Stage): Promise<string[]> {
  const text = await guest.run('/usr/sbin/devlink', '-j', '-s', 'dev', 'show', `pci/${card}`);
  const { dev } = JSON.parse(text) as {
    dev: Record<string, { stats: { reload: Record<string, unknown> } }>;
  };
  return Object.keys(dev[`pci/${card}`]?.stats.reload ?? {});
}

const scenarios: readonly Scenario[] = [
  {
    name: 'firmware is flashed and reloaded, and its version read back',
    run: async (stage) => {
      await startAgent(stage, 'reload');
      await untilProducts(stage.cloud, hostname, ['101d']);
      await untilInventory(stage.cloud, `${hostname}_${card}`, 'CUSTOM_SMARTNIC', 2);
      assert.deepEqual((await componentDevice(stage, 'fw')).components, [
        { name: 'fw', version: '1.0' },
      ]);
      assert.deepEqual(await reloads(stage), ['driver_reinit', 'fw_activate']);
      await program(stage, '2.0');
      const { status, programs } = await untilProgram(stage, 'fw', 'done');
      assert.equal(status, 'enabled');
      const [{ evidence } = { evidence: null }] = programs;
      assert.deepEqual([evidence?.before, evidence?.version], ['1.0', '2.0']);
      assert.deepEqual(await shown(stage), {
        driver: 'fake_nic',
        versions: {
          fixed: { 'board.id': 'FAKE-1' },
          running: { 'fw.mgmt': '2.0' },
          stored: { 'fw.mgmt': '2.0' },
        },
      });
      assert.equal(await stage.guest.read(folders), '');
    },
  },
  {
    name: "an image that the card refuses fails with its driver's words, and leaves the kernel's list of folders",
    run: async (stage) => {
      await program(stage, '2.1', 'inject:error\n');
      const { status, programs } = await untilProgram(stage, 'fw', 'failed');
      assert.equal(status, 'maintaining');
      assert.match(programs[0]?.reason ?? '', /write of fw: .*The card refused the image/);
      await eventually(
        () => stage.cloud.healthOf(hostname),
        ([reason]) => /fw \(write\) failed/.test(reason ?? ''),
        withinSeconds,
      );
      assert.equal(await stage.guest.read(folders), '');
    },
  },
  {
    name: 'an image that was not written goes on after the list of folders is free again',
    run: async (stage) => {
      await stage.guest.write(folders, '/opt/firmware');
      await program(stage, '2.2');
      const { programs } = await untilProgram(stage, 'fw', 'failed');
      assert.match(programs[0]?.reason ?? '', /firmware_class.path .* \/opt\/firmware/);
      assert.equal(await stage.guest.read(folders), '/opt/firmware');
      await stage.guest.write(folders, '\0');
      await program(stage, '2.2');
      assert.equal((await untilProgram(stage, 'fw', 'done')).status, 'enabled');
    },
  },
  {
    name: 'firmware that is stored and does not run awaits the power cycle, and runs after it',
    run: async (stage) => {
      await stage.powerOff();
      Object.assign(flash, { version: '2.2', fixed: 'Y' });
      await stage.boot();
      assert.deepEqual(await reloads(stage), ['driver_reinit']);
      await startAgent(stage, 'power-cycle');
      await program(stage, '3.0');
      assert.equal((await untilProgram(stage, 'fw', 'awaiting-power-cycle')).status, 'maintaining');
      assert.partialDeepStrictEqual(await shown(stage), {
        versions: { running: { 'fw.mgmt': '2.2' }, stored: { 'fw.mgmt': '3.0' } },
      });
      flash.version = '3.0';
      await passPowerCycle(stage, 'fw', '3.0', () => startAgent(stage, 'power-cycle'));
    },
  },
];

export const devlink: Group = {
  name: 'Devlink',
  hostname,
  prepare: async ({ guest }: Stage) => {
    await guest.run('modprobe', '-a', 'vfio-pci', 'vfio_iommu_type1');
    const functions = 'devs=15b3:101d:020000:2:101e';
    await guest.run('modprobe', 'fake_pci', functions, 'behind=0000:00:04.0');
    await guest.run('modprobe', 'fake_nic', `version=${flash.version}`, `fixed=${flash.fixed}`);
  },
  scenarios,
};
