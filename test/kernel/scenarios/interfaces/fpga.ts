// The kernel's FPGA framework, with a fake manager, and its own DFL drivers on a fake card.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { errorOf, type Guest } from '#test/kernel/machine/guest.ts';
import type { Group, Scenario } from '#test/kernel/scenario.ts';
import type { Stage } from '#test/kernel/stage.ts';

const devices = '/sys/bus/pci/devices';
const manager = '/sys/class/fpga_manager/fpga0';
/** The agent's own. */
const helper = '/usr/lib/cyborg-agent/helper';
/** Slots of fake_pci. */
const plain = '0001:00:00.0';
const dfl = '0001:00:01.0';

const stateOf = (guest: Guest) => guest.read(`${manager}/state`);

const scenarios: readonly Scenario[] = [
  {
    name: 'the manager of a card shows each outcome of programming',
    run: async ({ guest }) => {
      await guest.run('modprobe', 'fake_fpga', `pci=${plain}`, 'regions=2');
      await guest.save('/lib/firmware/good.bin', randomBytes(100_000));
      await guest.save('/lib/firmware/fails.bin', 'FAIL: more than the header of an image');
      await guest.save('/lib/firmware/crc.bin', 'CRC: more than the header of an image');
      const regions = await guest.list(`${devices}/${plain}/fpga_region`);
      assert.deepEqual(regions, ['region0', 'region1']);
      assert.equal(await stateOf(guest), 'unknown');
      const program = (text: string) => errorOf(guest.write(`${manager}/firmware`, text));

      assert.equal(await program('good.bin@1'), 'none');
      assert.equal(await stateOf(guest), 'operating');
      assert.match(await guest.read(`${manager}/loaded`), /^100000 /);
      const bridge = (name: string) => guest.read(`/sys/class/fpga_bridge/${name}/state`);
      assert.deepEqual([await bridge('br0'), await bridge('br1')], ['disabled', 'enabled']);

      assert.equal(await program('fails.bin'), 'EIO');
      assert.equal(await stateOf(guest), 'write error');
      assert.equal(await program('missing.bin'), 'ENOENT');
      assert.equal(await stateOf(guest), 'firmware request error');
      assert.equal(await program('crc.bin'), 'EIO');
      assert.equal(await stateOf(guest), 'write complete error');
      assert.equal(await guest.read(`${manager}/status`), 'reconfig CRC error');
      assert.equal(await program('good.bin@9'), 'EINVAL');
      await guest.run('rmmod', 'fake_fpga');
    },
  },
  {
    name: "the kernel's DFL drivers find the management engine, the port and its function",
    run: async ({ guest }) => {
      await guest.run('modprobe', 'fake_dfl', `pci=${dfl}`);
      const parts = ['dfl-fme', 'dfl-afu', 'dfl-fme-mgr', 'dfl-fme-br', 'dfl-fme-region'];
      await guest.run('modprobe', '-a', ...parts, 'dfl-pci');
      assert.equal(await guest.link(`${devices}/${dfl}/driver`), 'dfl-pci');
      assert.equal(await guest.read(`${manager}/name`), 'DFL FME FPGA Manager');
      const base = `${devices}/${dfl}/fpga_region/region0`;
      assert.equal(await guest.read(`${base}/dfl-fme.0/ports_num`), '1');
      assert.equal(
        await guest.read(`${base}/dfl-port.0/afu_id`),
        '1111222233334444aaaabbbbccccdddd',
      );
      const compatible = await guest.read('/sys/class/fpga_region/region1/compat_id');
      assert.equal(compatible, '99aabbccddeeff001122334455667788');
      // A region that takes no image has the file, and nothing in it.
      const none = guest.read('/sys/class/fpga_region/region0/compat_id');
      assert.equal(await errorOf(none), 'ENOENT');
    },
  },
  {
    name: 'DFL programs a region by an ioctl, and shows a CRC error',
    run: async ({ guest }) => {
      await guest.save('/tmp/image', randomBytes(100_000));
      const program = [helper, 'dfl-program', '/dev/dfl-fme.0', '0', '/tmp/image'];
      await guest.run(...program);
      assert.equal(await stateOf(guest), 'operating');
      await guest.write('/sys/module/fake_dfl/parameters/fail', '1');
      const failed = await guest.tryRun(...program);
      assert.match(failed.stderr, /Input\/output error/);
      assert.equal(await stateOf(guest), 'write complete error');
      assert.equal(await guest.read(`${manager}/status`), 'reconfig CRC error');
      await guest.write('/sys/module/fake_dfl/parameters/fail', '0');
      const other = await guest.tryRun(helper, 'dfl-program', '/dev/dfl-fme.0', '7', '/tmp/image');
      assert.match(other.stderr, /: (Invalid argument|No such device)\n$/);
      await guest.run(helper, 'dfl-reset', '/dev/dfl-port.0');
    },
  },
  {
    name: 'a DFL card has a virtual function for each port that its physical function has released',
    run: async ({ guest }) => {
      const count = `${devices}/${dfl}/sriov_numvfs`;
      assert.equal(await errorOf(guest.write(count, '1')), 'EINVAL');
      await guest.run(helper, 'dfl-release', '/dev/dfl-fme.0', '0');
      await guest.write(count, '1');
      await guest.write(count, '0');
      await guest.run(helper, 'dfl-assign', '/dev/dfl-fme.0', '0');
    },
  },
];

export const fpga: Group = {
  name: 'FPGA',
  prepare: async ({ guest }: Stage) => {
    const functions = ['10ee:5000:120000', '8086:0b30:120000:1'];
    const place = ['behind=0000:00:04.0', 'window=0x3c000000'];
    await guest.run('modprobe', 'fake_pci', `devs=${functions}`, ...place);
  },
  scenarios,
};
