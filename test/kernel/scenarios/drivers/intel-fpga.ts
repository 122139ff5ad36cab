// The agent's driver `intel_fpga` on the kernel's own DFL drivers, with a card that is registers
// in RAM: ports that go to virtual functions and back, images by the ioctl, and their errors.

import assert from 'node:assert/strict';
import { imageOf, interfaceUuid } from '#test/kernel/dfl-images.ts';
import { errorOf, type Guest, type GuestProcess } from '#test/kernel/machine/guest.ts';
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
import { eventually } from '#test/support/suites/rest.ts';

const card = '0001:00:00.0';
const device = `/sys/bus/pci/devices/${card}`;
const engine = `${device}/fpga_region/region0`;
const hostname = 'kernel-fpga.example';
const provider = `${hostname}_${card}_region0`;
const blankFile = '/var/lib/cyborg-agent/blank.gbs';
const running: { agent?: GuestProcess } = {};

const blank = imageOf(0xb1a4b1a4);
const wanted = imageOf(0x12345678);

async function virtualFunction(guest: Guest): Promise<string> {
  return guest.link(`${device}/virtfn0`);
}

/** The function that the region holds, as the cloud knows it: its traits. */
async function functionOf({ cloud }: Stage): Promise<readonly string[]> {
  const found = await cloud.placement.get<{ resource_providers: { uuid: string }[] }>(
    `/resource_providers?name=${provider}`,
    'admin-token',
  );
  const uuid = found.resource_providers[0]?.uuid;
  const { traits } = await cloud.placement.get<{ traits: string[] }>(
    `/resource_providers/${uuid}/traits`,
    'admin-token',
  );
  return traits.filter((each) => each.startsWith('CUSTOM_FPGA_INTEL_FUNCTION_'));
}

function traitOf(functionUuid: string): string {
  return `CUSTOM_FPGA_INTEL_FUNCTION_${functionUuid.replaceAll('-', '_').toUpperCase()}`;
}

/**
 * Gives the port back to the card, so that its registers can be seen. The kernel does not probe a
 * port that it has deleted before: only its card's driver makes the port anew.
 */
async function takePort(guest: Guest): Promise<void> {
  await guest.write(`${device}/sriov_numvfs`, '0');
  await guest.run('/usr/lib/cyborg-agent/helper', 'dfl-assign', '/dev/dfl-fme.0', '0');
  assert.equal(await guest.exists(`${engine}/dfl-port.0/modalias`), true);
  assert.equal(await guest.exists(`${engine}/dfl-port.0/id`), false);
  await guest.write('/sys/bus/pci/drivers/dfl-pci/unbind', card);
  await guest.write('/sys/bus/pci/drivers/dfl-pci/bind', card);
  assert.equal(await guest.read(`${engine}/dfl-port.0/id`), '0');
}

const scenarios: readonly Scenario[] = [
  {
    name: 'the agent releases the port, makes its virtual function, and binds it to VFIO',
    run: async (stage) => {
      const { guest, cloud } = stage;
      await guest.save(blankFile, blank.bytes);
      // Images come from the address that their signature has.
      const port = String(cloud.imagesPort);
      const to = ['busybox', 'nc', '10.0.2.100', '9326'];
      await guest.start('images', ['busybox', 'nc', '-ll', '-p', port, '-e', ...to]);
      running.agent = await stage.startAgent({
        drivers: ['intel_fpga'],
        image_source: `http://127.0.0.1:${port}/`,
        intel_fpga: { cards: [card], blank_images: { [interfaceUuid]: blankFile } },
      });
      await untilInventory(cloud, provider, 'FPGA', 1);
      const virtual = await virtualFunction(guest);
      assert.equal(await guest.link(`/sys/bus/pci/devices/${virtual}/driver`), 'vfio-pci');
      assert.equal(await guest.exists(`${engine}/dfl-port.0`), false);
      assert.deepEqual(await functionOf(stage), [traitOf('11112222-3333-4444-aaaa-bbbbccccdddd')]);
      assert.deepEqual(
        running.agent.lines.filter((line) => line.includes('"level":"error"')),
        [],
      );
    },
  },
  {
    name: 'a server gets the virtual function of a region that holds its image',
    run: async (stage) => {
      const { guest, cloud } = stage;
      const image = await cloud.addImage('wanted', wanted.bytes);
      const ofIntel = { 'trait:CUSTOM_FPGA_INTEL': 'required' };
      const group = { 'resources:FPGA': '1', ...ofIntel, 'accel:bitstream_id': image };
      await createFlavor(cloud, 'programmed', group);
      const server = await createActiveServer(cloud, 'programmed');
      const virtual = await virtualFunction(guest);
      assert.equal((await arqOf(cloud, server)).function, virtual);
      assert.equal(await guest.link(`/sys/bus/pci/devices/${virtual}/driver`), 'vfio-pci');
      assert.equal(await guest.read('/sys/class/fpga_manager/fpga0/state'), 'operating');
      await eventually(
        () => functionOf(stage),
        (found) => found.join() === traitOf(wanted.functionUuid),
      );
      await deleteServer(cloud, server);
    },
  },
  {
    name: 'the region holds the blank image after its server, and has no function',
    run: async (stage) => {
      const { guest, cloud } = stage;
      await eventually(() => cloud.isClean(hostname), Boolean, 280);
      await eventually(
        () => functionOf(stage),
        (found) => found.length === 0,
      );
      await running.agent?.stop();
      await takePort(guest);
      assert.equal(
        await guest.read(`${engine}/dfl-port.0/afu_id`),
        blank.functionUuid.replaceAll('-', ''),
      );
    },
  },
  {
    name: "the port's errors are cleared by their value alone, and a failed image has a status",
    run: async ({ guest }) => {
      const errors = `${engine}/dfl-port.0/errors/errors`;
      await guest.write('/sys/module/fake_dfl/parameters/errors', String(0x200));
      await eventually(
        () => guest.read(errors),
        (found) => found === '0x200',
      );
      assert.equal(await errorOf(guest.write(errors, '0x1')), 'EINVAL');
      await guest.write('/sys/module/fake_dfl/parameters/errors', String(0x200));
      await eventually(
        () => guest.read(errors),
        (found) => found === '0x200',
      );
      await guest.write(errors, '0x200');
      assert.equal(await guest.read(errors), '0x0');
      for (const name of ['catfatal', 'nonfatal', 'fme', 'pcie0', 'pcie1']) {
        assert.equal(await guest.read(`${engine}/dfl-fme.0/errors/${name}_errors`), '0x0');
      }
    },
  },
  {
    name: 'a server whose image the card refuses is not built, and the reason names the CRC',
    run: async (stage) => {
      const { guest, cloud } = stage;
      const agent = await stage.startAgent({
        drivers: ['intel_fpga'],
        image_source: `http://127.0.0.1:${cloud.imagesPort}/`,
        intel_fpga: { cards: [card], blank_images: { [interfaceUuid]: blankFile } },
      });
      await untilInventory(cloud, provider, 'FPGA', 1);
      await guest.write('/sys/module/fake_dfl/parameters/fail', '1');
      const server = await createServer(cloud, 'programmed');
      assert.equal(server.status, 'ERROR');
      const said = await agent.line((line) => line.includes('"Job step failed"'));
      assert.match(
        said,
        /EIO: port 0 did not take the image \(write complete error, reconfig CRC error\)/,
      );
      await guest.write('/sys/module/fake_dfl/parameters/fail', '0');
    },
  },
];

export const intelFpga: Group = {
  name: 'Intel FPGA',
  hostname,
  prepare: async ({ guest }: Stage) => {
    const place = ['behind=0000:00:04.0', 'window=0x3c000000'];
    await guest.run('modprobe', 'fake_pci', 'devs=8086:0b30:120000:1:0b31', ...place);
    await guest.run('modprobe', 'fake_dfl', `pci=${card}`);
    const parts = ['dfl-fme', 'dfl-afu', 'dfl-fme-mgr', 'dfl-fme-br', 'dfl-fme-region'];
    await guest.run('modprobe', '-a', ...parts, 'dfl-pci', 'vfio-pci', 'vfio_iommu_type1');
  },
  scenarios,
};
