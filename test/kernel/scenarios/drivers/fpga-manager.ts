// The agent's driver `fpga_manager` with the kernel's class fpga_manager: images that are written
// by `flags` and `firmware`, which fake_fpga has as AMD's kernels, and a kernel without them.

import assert from 'node:assert/strict';
import type { GuestProcess } from '#test/kernel/machine/guest.ts';
import type { Group, Scenario } from '#test/kernel/scenario.ts';
import {
  arqOf,
  createActiveServer,
  createFlavor,
  createServer,
  deleteServer,
  untilInventory,
} from '#test/kernel/servers.ts';
import type { Stage } from '#test/kernel/stage.ts';
import { aGbs } from '#test/support/hosts/gbs.ts';
import { eventually } from '#test/support/suites/rest.ts';

/** Slots of fake_pci: the manager's board, and the function that guests get. */
const board = '0001:00:00.0';
const attached = '0001:00:01.0';
const manager = '/sys/class/fpga_manager/fpga0';
const hostname = 'kernel-fpga-manager.example';
const provider = `${hostname}_fpga0_region0`;
const blankFile = '/var/lib/cyborg-agent/blank.gbs';
const blankBytes = 5_000;
const wantedBytes = 100_000;
/** Other hosts of the cloud offer FPGAs, too. */
const ofBoard = { 'resources:FPGA': '1', 'trait:CUSTOM_BOARD': 'required' };
const running: { agent?: GuestProcess } = {};

function imageOf(start: string, bytes: number): Buffer {
  return aGbs({ bitstream: start.padEnd(bytes, '.') });
}

async function startAgent(stage: Stage): Promise<GuestProcess> {
  const { guest, cloud } = stage;
  await guest.save(blankFile, imageOf('blank', blankBytes));
  return await stage.startAgent({
    drivers: ['fpga_manager'],
    image_source: `http://127.0.0.1:${cloud.imagesPort}/`,
    fpga_manager: {
      boards: [
        {
          manager: 'fpga0',
          attach: attached,
          images: 'partial',
          blank_image: blankFile,
          interface: '9926ab6d-6c92-5a68-aabc-a7d84c545738',
          traits: ['CUSTOM_BOARD'],
        },
      ],
    },
  });
}

const scenarios: readonly Scenario[] = [
  {
    name: 'the agent reports the board by its name, and binds its function to VFIO',
    run: async (stage) => {
      const { guest, cloud } = stage;
      const port = String(cloud.imagesPort);
      const to = ['busybox', 'nc', '10.0.2.100', '9326'];
      await guest.start('images', ['busybox', 'nc', '-ll', '-p', port, '-e', ...to]);
      running.agent = await startAgent(stage);
      await untilInventory(cloud, provider, 'FPGA', 1);
      assert.equal(await guest.link(`/sys/bus/pci/devices/${attached}/driver`), 'vfio-pci');
    },
  },
  {
    name: 'a server gets the function of a board that has taken its image in part',
    run: async (stage) => {
      const { guest, cloud } = stage;
      const image = await cloud.addImage('design', imageOf('design', wantedBytes));
      const group = { ...ofBoard, 'accel:bitstream_id': image };
      await createFlavor(cloud, 'design', group);
      const server = await createActiveServer(cloud, 'design');
      assert.equal((await arqOf(cloud, server)).function, attached);
      assert.equal(await guest.read(`${manager}/state`), 'operating');
      // Without the header; the flag of a partial image.
      assert.match(await guest.read(`${manager}/loaded`), /^100000 [0-9a-f]{8} 1$/);
      assert.deepEqual(await guest.list('/lib/firmware'), []);
      await deleteServer(cloud, server);
    },
  },
  {
    name: 'the board has the blank image after its server',
    run: async ({ guest, cloud }) => {
      await eventually(() => cloud.isClean(hostname), Boolean, 280);
      assert.match(await guest.read(`${manager}/loaded`), /^5000 /);
      assert.deepEqual(await guest.list('/lib/firmware'), []);
    },
  },
  {
    name: 'a server whose image the board refuses is not built, and the reason names the CRC',
    run: async ({ guest, cloud }) => {
      const image = await cloud.addImage('crc', imageOf('CRC', wantedBytes));
      const group = { ...ofBoard, 'accel:bitstream_id': image };
      await createFlavor(cloud, 'crc', group);
      const server = await createServer(cloud, 'crc');
      assert.equal(server.status, 'ERROR');
      const said = await running.agent?.line((line) => line.includes('"Job step failed"'));
      const reason = 'EIO: fpga0 did not take the image (write complete error, reconfig CRC error)';
      assert.ok(said?.includes(reason), said);
      assert.deepEqual(await guest.list('/lib/firmware'), []);
      await deleteServer(cloud, server.id);
      await eventually(() => cloud.isClean(hostname), Boolean, 280);
    },
  },
  {
    name: 'a kernel without the file firmware takes no image, and the reason says so',
    run: async (stage) => {
      const { guest, cloud } = stage;
      await running.agent?.stop();
      await guest.run('rmmod', 'fake_fpga');
      await guest.run('modprobe', 'fake_fpga', `pci=${board}`, 'mainline=1');
      assert.equal(await guest.exists(`${manager}/firmware`), false);
      const agent = await startAgent(stage);
      await untilInventory(cloud, provider, 'FPGA', 1);
      const server = await createServer(cloud, 'design');
      assert.equal(server.status, 'ERROR');
      const said = await agent.line((line) => line.includes('"Job step failed"'));
      assert.match(said, /The kernel has no file firmware for fpga0/);
    },
  },
];

export const fpgaManager: Group = {
  name: 'FPGA manager',
  hostname,
  prepare: async ({ guest }: Stage) => {
    const functions = ['10ee:5000:120000', '10ee:9038:120000'];
    const place = ['behind=0000:00:04.0', 'window=0x3c000000'];
    await guest.run('modprobe', 'fake_pci', `devs=${functions}`, ...place);
    await guest.run('modprobe', 'fake_fpga', `pci=${board}`);
    await guest.run('modprobe', '-a', 'vfio-pci', 'vfio_iommu_type1');
  },
  scenarios,
};
