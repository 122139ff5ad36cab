// Servers that run without their device, or with one that is not bound to them, on a real libvirt.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { hardwareHost } from '#test/openstack/hardware-node.ts';
import { restartCompute } from '#test/openstack/nodes.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import {
  changeDevice,
  hostdev,
  installHook,
  removeHook,
  secondsSince,
  sentenceOf,
  unplug,
  untilRecorded,
  untilSaid,
} from './lost-device.ts';
import type { GuestNode } from './node.ts';
import { actAndRead, bootTenant, found } from './tenant.ts';

const texts = { lost: 'what a server keeps', refused: 'what a hook keeps' };
const ownId = '5c1f9f3e-2b7d-4c55-9d0a-1f2e3d4c5b6a';
/** As in core/domain/device/device-attachments.ts. */
const settledMs = 2 * 60_000;
const reboot = { reboot: { type: 'HARD' } };

/** A domain of the host's own, as `virsh` makes it; it has no disk, so it writes nothing. */
const ownDomain = `<domain type='qemu'>
  <name>own</name><uuid>${ownId}</uuid>
  <memory unit='MiB'>64</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>${hostdev}</devices>
</domain>`;

/** Played while the device has had no server for minutes: a claim of late delays the incident. */
export function ownDomains(node: GuestNode): readonly Scenario[] {
  return [
    {
      name: 'guest: a domain that Nova has not made is an incident while it has the device',
      run: async (stage) => {
        const { guest } = node.host;
        await guest.save('/tmp/own.xml', ownDomain);
        await guest.run('virsh', 'create', '/tmp/own.xml');
        const free = await untilSaid(stage, `is attached to server ${ownId}, and not bound`);
        await guest.run('virsh', 'destroy', 'own');
        const gone = await untilSaid(stage);
        return `not bound: said after ${free} s, ended ${gone} s after its end`;
      },
    },
  ];
}

export function notAttached(node: GuestNode): readonly Scenario[] {
  return [
    {
      name: 'guest: a server that loses its device is an incident until it has the device again',
      run: async (stage) => {
        const { guest } = node.host;
        const tenant = await bootTenant(stage, 'nvme', texts.lost);
        const bootedAt = performance.now();
        await untilRecorded(node, tenant.id);
        await unplug(node, tenant.id);
        const runsWithout = `is bound to server ${tenant.id}, which runs without it`;
        const lost = await untilSaid(stage, runsWithout);
        await changeDevice(guest, 'attach-device', tenant.id, '--live');
        const attached = await untilSaid(stage);
        await unplug(node, tenant.id);
        // A report may have been on its way when a younger bind was made: it would not count.
        await sleep(settledMs - (performance.now() - bootedAt));
        await guest.save('/tmp/own.xml', ownDomain);
        await guest.run('virsh', 'create', '/tmp/own.xml');
        const elsewhere = await untilSaid(stage, `and attached to server ${ownId}`);
        await guest.run('virsh', 'destroy', 'own');
        const lines = await actAndRead(stage, tenant, reboot);
        assert.equal(lines[1], found(texts.lost));
        const rebooted = await untilSaid(stage);
        await node.removeAndClean(stage, tenant);
        return [
          `lost: said after ${lost} s, ended ${attached} s after attach-device`,
          `attached elsewhere: said after ${elsewhere} s, ended ${rebooted} s after the hard reboot`,
        ].join('\n');
      },
    },
    {
      name: "guest: libvirt's hook refuses the start of a server without its device",
      run: async (stage) => {
        const { guest } = node.host;
        const tenant = await bootTenant(stage, 'nvme', texts.refused);
        await untilRecorded(node, tenant.id);
        await installHook(node);
        // Nova would stop what it has not started.
        await stage.cloud.killCompute(hardwareHost);
        await guest.run('virsh', 'destroy', tenant.id);
        await changeDevice(guest, 'detach-device', tenant.id, '--config');
        const start = async () => {
          const startedAt = performance.now();
          const { code, stderr } = await guest.tryRun('virsh', 'start', tenant.id);
          return { code, stderr: stderr.trim(), seconds: secondsSince(startedAt) };
        };
        const refused = await start();
        assert.equal(refused.code, 1);
        assert.match(refused.stderr, sentenceOf(tenant.id));
        await node.killAgent();
        const away = await start();
        assert.equal(away.code, 0, away.stderr);
        await guest.run('virsh', 'destroy', tenant.id);
        await node.startAgent();
        assert.equal((await start()).code, 1);
        await removeHook(node);
        const off = await start();
        assert.equal(off.code, 0, off.stderr);
        const without = await untilSaid(stage, `server ${tenant.id}, which runs without it`);
        await installHook(node);
        await restartCompute(stage, hardwareHost, { isLibvirt: true });
        const lines = await actAndRead(stage, tenant, reboot);
        assert.equal(lines[1], found(texts.refused));
        await removeHook(node);
        await node.removeAndClean(stage, tenant);
        return [
          `refused after ${refused.seconds} s: ${refused.stderr.replaceAll(/\s+/g, ' ')}`,
          `the agent away: starts after ${away.seconds} s`,
          `without the hook: starts after ${off.seconds} s, said after ${without} s`,
        ].join('\n');
      },
    },
  ];
}
