// A device that leaves the PCI bus while a guest uses it, and one that libvirt leaves on VFIO.

import assert from 'node:assert/strict';
import { hardwareHost, untilOffered } from '#test/openstack/hardware-node.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { arqsOf, build, removeCleanly, show } from '#test/openstack/servers.ts';
import { operatorOf, type Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';
import { bootImage } from './boot-image.ts';
import { flavors, type GuestNode, nvme } from './node.ts';
import { bootTenant, withinSeconds, zeros } from './tenant.ts';

const device = `/sys/bus/pci/devices/${nvme}`;
const texts = {
  removed: 'what leaves with the device',
  next: 'what the next tenant has',
  own: 'what a domain of the host has',
};

/** A domain of the host's own, as `virsh` makes it. */
const unmanaged = `<domain type='qemu'>
  <name>unmanaged</name>
  <memory unit='MiB'>64</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type><boot dev='hd'/></os>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/><source file='/tmp/unmanaged.raw'/><target dev='vda' bus='virtio'/>
    </disk>
    <hostdev mode='subsystem' type='pci' managed='no'>
      <source><address domain='0x0000' bus='0x01' slot='0x00' function='0x0'/></source>
    </hostdev>
    <serial type='file'><source path='/tmp/unmanaged.log'/></serial>
  </devices>
</domain>`;

export function removed(node: GuestNode): readonly Scenario[] {
  return [
    {
      name: 'guest: a device that is removed from the bus under a guest is erased when it is back',
      run: async (stage) => {
        const { guest } = node.host;
        const tenant = await bootTenant(stage, 'nvme', texts.removed);
        const remove = `echo 1 >${device}/remove; echo removed`;
        const remover = await guest.start('remover', ['sh', '-c', remove]);
        // The kernel asks QEMU to give the device back. The guest does not, so the kernel waits.
        await eventually(
          () => guest.run('dmesg'),
          (text) => text.includes(`${nvme}: Relaying device request to user`),
        );
        assert.equal((await show(stage, tenant.id)).status, 'ACTIVE');
        assert.equal((await arqsOf(stage, tenant.id))[0]?.state, 'Bound');
        assert.deepEqual(remover.lines, []);

        await removeCleanly(stage, tenant.id);
        await remover.line((line) => line === 'removed');
        const missing = `Driver nvme finds no device at ${nvme}.`;
        const reasons = await eventually(
          () => reasonsOf(stage),
          (all) => all.some((each) => each.includes(missing)),
          withinSeconds,
        );
        assert.ok(reasons.includes(`The device at ${nvme} is not on this host.`), String(reasons));
        const refused = await build({ ...stage, demo: stage.other }, 'nvme');
        assert.match(refused.fault, /No valid host/);
        await removeCleanly({ ...stage, demo: stage.other }, refused.id);

        await guest.write('/sys/bus/pci/rescan', '1');
        const uuid = await eventually(() => quarantinedDevice(stage), Boolean, withinSeconds);
        // The host tries again by itself after minutes. An operator does not wait.
        const reason = 'the device is back';
        const path = `/devices/${uuid}/force_release`;
        await stage.admin.accelerator.ask('POST', path, { reason });
        await node.removeAndClean(stage);
        await untilOffered(stage, Object.values(flavors));
        const other = { ...stage, demo: stage.other };
        const next = await bootTenant(other, 'nvme', texts.next);
        assert.equal(next.lines[1], `found: ${zeros}`);
        await node.removeAndClean(other, next);
        return next.note;
      },
    },
    {
      name: "guest: a device is erased although libvirt has had it unmanaged, for the host's own use",
      run: async (stage) => {
        const { guest } = node.host;
        await guest.save('/tmp/unmanaged.raw', bootImage(texts.own));
        await guest.save('/tmp/unmanaged.xml', unmanaged);
        await guest.run('virsh', 'create', '/tmp/unmanaged.xml');
        await eventually(
          () => guest.tryRun('grep', 'done', '/tmp/unmanaged.log'),
          ({ code }) => code === 0,
          withinSeconds,
        );
        await guest.run('virsh', 'destroy', 'unmanaged');
        const first = await bootTenant(stage, 'nvme', texts.removed);
        await node.killAgent();
        await removeCleanly(stage, first.id);
        const left = await guest.link(`${device}/driver`);
        await node.startAgent();
        await node.removeAndClean(stage);
        assert.equal(await guest.link(`${device}/driver`), 'vfio-pci');
        const next = await bootTenant(stage, 'nvme', texts.next);
        assert.equal(next.lines[1], `found: ${zeros}`);
        await node.removeAndClean(stage, next);
        return `libvirt left the device on ${left}; ${next.note}`;
      },
    },
  ];
}

/** Reads all incidents. */
async function reasonsOf(stage: Stage): Promise<readonly string[]> {
  const operator = await operatorOf(stage);
  const { incidents } = (await operator.ask('GET', '/incidents')).body;
  return incidents.map(({ reason }) => reason);
}

/** The uuid of the NVMe device, once its host reports it and its handle is in quarantine. */
async function quarantinedDevice(stage: Stage): Promise<string | undefined> {
  const operator = await operatorOf(stage);
  const { devices } = (await operator.ask('GET', `/hosts/${hardwareHost}`)).body;
  return devices.find(({ address, handles }) => address === nvme && handles.quarantined === 1)
    ?.uuid;
}
