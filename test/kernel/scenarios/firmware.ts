// Programs of a component through the kernel's class `firmware`, with the kernel's own module for
// its tests in place of a card's controller: what was uploaded is the version that the component
// runs, and an image can make the upload fail in each phase.

import assert from 'node:assert/strict';
import type { Guest } from '#test/kernel/machine/guest.ts';
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

const hostname = 'kernel-firmware.example';
const card = '0000:01:00.0';
const module = '/sys/devices/virtual/misc/test_firmware';
const node = '/sys/class/firmware/bmc0';
const withinSeconds = 120;

/** What the flash of the card holds at a boot. */
const flash = { version: '1.0' };

async function program(stage: Stage, version: string, content = `${version}\n`): Promise<void> {
  await programComponent(stage, 'bmc', { models: '1b36:0010', version, content });
}

async function startAgent(stage: Stage, runsAfter: 'write' | 'power-cycle'): Promise<void> {
  const components = [
    { name: 'bmc', upload: 'bmc0', version: `${module}/upload_read`, runs_after: runsAfter },
  ];
  await stage.startAgent({
    drivers: ['pci'],
    image_source: await passImages(stage),
    pci: {
      allow_list: [{ vendor_id: '1b36', product_id: '0010', device_type: 'SSD', components }],
    },
  });
}

const uploaded = (guest: Guest) => guest.read(`${module}/upload_read`);

const scenarios: readonly Scenario[] = [
  {
    name: 'an image is uploaded, and its version read back; then the device is offered again',
    run: async (stage) => {
      await startAgent(stage, 'write');
      await untilProducts(stage.cloud, hostname, ['0010']);
      await untilInventory(stage.cloud, `${hostname}_${card}`, 'CUSTOM_PCI', 1);
      assert.deepEqual((await componentDevice(stage, 'bmc')).components, [
        { name: 'bmc', version: '1.0' },
      ]);
      await program(stage, '2.0');
      const { status, programs } = await untilProgram(stage, 'bmc', 'done');
      assert.equal(status, 'enabled');
      assert.deepEqual(
        [programs[0]?.evidence?.before, programs[0]?.evidence?.version],
        ['1.0', '2.0'],
      );
      assert.equal(await uploaded(stage.guest), '2.0');
      assert.equal(await stage.guest.read(`${node}/status`), 'idle');
      await untilInventory(stage.cloud, `${hostname}_${card}`, 'CUSTOM_PCI', 1);
    },
  },
  {
    name: "a card that fails while it programs is unhealthy, and the reason has the kernel's words",
    run: async (stage) => {
      await program(stage, '2.1', 'inject:programming:hw-error\n');
      const { status, programs } = await untilProgram(stage, 'bmc', 'failed');
      assert.equal(status, 'maintaining');
      assert.match(programs[0]?.reason ?? '', /write of bmc: EIO: .*\(programming:hw-error\)/);
      await eventually(
        () => stage.cloud.healthOf(hostname),
        ([reason]) => /bmc \(write\) failed: EIO/.test(reason ?? ''),
        withinSeconds,
      );
      assert.equal(await stage.guest.read(`${node}/status`), 'idle');
    },
  },
  {
    name: 'the next program that succeeds ends the fault',
    run: async (stage) => {
      await program(stage, '2.2');
      assert.equal((await untilProgram(stage, 'bmc', 'done')).status, 'enabled');
      assert.equal(await uploaded(stage.guest), '2.2');
    },
  },
  {
    name: 'an upload that an agent has begun and left is cancelled by the next program',
    run: async (stage) => {
      await stage.guest.write(`${node}/loading`, '1');
      await program(stage, '2.3');
      await untilProgram(stage, 'bmc', 'done');
      assert.equal(await uploaded(stage.guest), '2.3');
    },
  },
  {
    name: 'a power cut after the write is the power cycle: the host reads the version back',
    run: async (stage) => {
      await stage.powerOff();
      flash.version = '2.3';
      await stage.boot();
      await startAgent(stage, 'power-cycle');
      await program(stage, '3.0');
      const waiting = await untilProgram(stage, 'bmc', 'awaiting-power-cycle');
      assert.equal(waiting.status, 'maintaining');
      flash.version = '3.0';
      await passPowerCycle(stage, 'bmc', '3.0', () => startAgent(stage, 'power-cycle'));
    },
  },
];

export const firmware: Group = {
  name: 'Firmware',
  hostname,
  newerKernel: true,
  prepare: async ({ guest }: Stage) => {
    await guest.run('modprobe', 'test_firmware');
    await guest.write(`${module}/upload_register`, 'bmc0');
    await guest.write(`${module}/config_upload_name`, 'bmc0');
    await guest.write(`${node}/loading`, '1');
    await guest.write(`${node}/data`, `${flash.version}\n`);
    await guest.write(`${node}/loading`, '0');
    await eventually(
      () => uploaded(guest),
      (version) => version === flash.version,
      10,
    );
  },
  scenarios,
};
