// Servers that really use their devices: nova-compute with Nova's libvirt driver; libvirtd, QEMU
// and our agent in a VM with a real kernel.

import assert from 'node:assert/strict';
import { bindTo } from '#test/kernel/machine/guest.ts';
import { hardwareHost } from '#test/openstack/hardware-node.ts';
import { act, restartCompute } from '#test/openstack/nodes.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { arqsOf, removeCleanly, show } from '#test/openstack/servers.ts';
import { operatorOf, type Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';
import { moves } from './moves.ts';
import { GuestNode, nvme } from './node.ts';
import { notAttached, ownDomains } from './not-attached.ts';
import { removed } from './removed.ts';
import { resumed } from './resumed.ts';
import { actAndRead, bootTenant, found, looped, withinSeconds, wrote, zeros } from './tenant.ts';

/** What tenants write to their devices. */
const texts = {
  first: 'what the first tenant has',
  second: 'what the second tenant has',
  killed: 'what outlives its server',
  kept: 'what a loss of power keeps',
  ahead: 'to an mdev made ahead',
  atBind: 'to an mdev made at bind',
};

const bootMdevs = async (stage: Stage) => {
  const ahead = await bootTenant(stage, 'mdev-ahead', texts.ahead);
  const atBind = await bootTenant(stage, 'mdev-at-bind', texts.atBind);
  for (const { arq } of [ahead, atBind]) assert.equal(arq.attach_handle_type, 'MDEV');
  assert.ok(ahead.lines.includes(looped(texts.ahead)), ahead.note);
  assert.ok(atBind.lines.includes(looped(texts.atBind)), atBind.note);
  return [ahead, atBind] as const;
};

interface GuestScenario extends Scenario {
  /**
   * The drivers of the agent whose devices guests use in the scenario, with what the table of
   * drivers has in its column of that name.
   */
  readonly uses?: Readonly<Record<string, string>>;
}

/** @param cleans false for a mutant: an agent whose settings erase nothing */
export function guest(options: { readonly cleans: boolean }): {
  readonly scenarios: readonly GuestScenario[];
  readonly end: () => Promise<void>;
} {
  const node = new GuestNode(options);
  const scenarios: readonly GuestScenario[] = [
    {
      name: 'guest: a compute node with libvirt, QEMU and real drivers joins the cloud',
      run: async (stage) =>
        `resource classes below the node: ${(await node.join(stage)).join(', ')}`,
    },
    ...ownDomains(node),
    {
      name: 'guest: the next tenant of an NVMe device finds zeros where the last one wrote',
      uses: { nvme: 'yes' },
      run: async (stage) => {
        const first = await bootTenant(stage, 'nvme', texts.first);
        assert.deepEqual(first.lines.slice(0, 3), ['up', `found: ${zeros}`, wrote(texts.first)]);
        await node.removeAndClean(stage, first);
        const other = { ...stage, demo: stage.other };
        const second = await bootTenant(other, 'nvme', texts.second);
        assert.deepEqual(second.lines.slice(0, 3), ['up', `found: ${zeros}`, wrote(texts.second)]);
        await node.removeAndClean(other, second);
        const evidence = await eventually(
          () => evidenceOf(stage),
          (each) =>
            each.filter((text) => text.includes('"format_status":"completed"')).length === 2,
        );
        return [first.note, second.note, ...evidence].join('\n');
      },
    },
    {
      name: 'guest: a server whose QEMU was killed starts again with its NVMe device and data',
      run: async (stage) => {
        const tenant = await bootTenant(stage, 'nvme', texts.killed);
        assert.deepEqual(tenant.lines.slice(1, 3), [`found: ${zeros}`, wrote(texts.killed)]);
        await node.host.guest.run('pkill', '-KILL', '-f', `uuid ${tenant.id}`);
        await eventually(
          () => show(stage, tenant.id),
          ({ status, task }) => status === 'SHUTOFF' && task === null,
          withinSeconds,
        );
        const lines = await actAndRead(stage, tenant, { 'os-start': null });
        assert.equal(lines[1], found(texts.killed));
        await node.removeAndClean(stage, tenant);
        return lines.join(', ');
      },
    },
    {
      name: 'guest: a device that libvirt has left on the driver nvme is erased and on VFIO again',
      run: async (stage) => {
        const tenant = await bootTenant(stage, 'nvme', texts.killed);
        // As if libvirt had given the device back to the host before the agent looks again.
        await node.killAgent();
        await removeCleanly(stage, tenant.id);
        await bindTo(node.host.guest, nvme, 'nvme');
        await node.startAgent();
        await node.removeAndClean(stage);
        const driver = await node.host.guest.link(`/sys/bus/pci/devices/${nvme}/driver`);
        assert.equal(driver, 'vfio-pci');
        const next = await bootTenant(stage, 'nvme', texts.second);
        assert.equal(next.lines[1], `found: ${zeros}`);
        await node.removeAndClean(stage, next);
        return next.note;
      },
    },
    {
      name: 'guest: servers exchange bytes with an mdev made ahead and one made at bind',
      uses: { mdev: 'yes', nvidia_gpu: 'mdevs' },
      run: async (stage) => {
        const tenants = await bootMdevs(stage);
        for (const [index, tenant] of tenants.entries()) {
          const text = index === 0 ? texts.ahead : texts.atBind;
          const lines = await actAndRead(stage, tenant, { reboot: { type: 'HARD' } });
          assert.ok(lines.includes(looped(text)), lines.join(', '));
        }
        await node.removeAndClean(stage, ...tenants);
        return [...tenants.map(({ note }) => note), 'again after a hard reboot of each'].join('\n');
      },
    },
    {
      name: 'guest: after a loss of power servers come back with their devices',
      run: async (stage) => {
        const kept = await bootTenant(stage, 'nvme', texts.kept);
        const mdevs = await bootMdevs(stage);
        await node.powerOff();
        await node.host.boot();
        await restartCompute(stage, hardwareHost, { isLibvirt: true });
        // Before the agent has started: a PCI device needs no agent, and an mdev is not there yet.
        const hard = { reboot: { type: 'HARD' } };
        assert.equal((await actAndRead(stage, kept, hard))[1], found(texts.kept));
        for (const { id } of mdevs) {
          const refused = () => stage.answers.filter(({ status }) => status === 409).length;
          const before = refused();
          await act(stage, id, hard);
          assert.equal(refused(), before + 1);
          assert.equal((await arqsOf(stage, id))[0]?.state, 'unknown');
        }
        const running = (await node.host.guest.run('virsh', 'list', '--uuid')).trim();
        assert.equal(running, kept.id, 'no server runs without its device');
        const startedAt = performance.now();
        await node.startAgent();
        const all = [kept, ...mdevs];
        for (const { id } of all) {
          await eventually(
            () => arqsOf(stage, id),
            (arqs) => arqs.every(({ state }) => state === 'Bound'),
            withinSeconds,
          );
        }
        const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
        for (const tenant of mdevs) {
          const text = tenant === mdevs[0] ? texts.ahead : texts.atBind;
          assert.ok((await actAndRead(stage, tenant, hard)).includes(looped(text)));
        }
        await node.removeAndClean(stage, ...all);
        return `Bound again ${seconds} s after the start of the agent`;
      },
    },
    ...moves(node),
    ...removed(node),
    ...notAttached(node),
    ...resumed(node),
  ];
  return { scenarios, end: () => node.powerOff() };
}

/** What the history says of each cleaning of the node's NVMe device. */
async function evidenceOf(stage: Stage): Promise<string[]> {
  const path = `/devices?hostname=${hardwareHost}&type=SSD`;
  const [device] = (await stage.admin.accelerator.ask('GET', path)).body.devices;
  const operator = await operatorOf(stage);
  const cleaned = `/history?device=${device?.uuid}&kind=handle.cleaned`;
  const { history } = (await operator.ask('GET', cleaned)).body;
  return history.map((each) => JSON.stringify(each.evidence));
}
