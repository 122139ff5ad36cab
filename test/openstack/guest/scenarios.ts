// Servers that really use their devices: nova-compute with Nova's libvirt driver; libvirtd, QEMU
// and our agent in a VM with a real kernel.

import assert from 'node:assert/strict';
import { freePort } from '#local/ports.ts';
import { bindTo, type GuestProcess } from '#test/kernel/guest.ts';
import type { Stage as Host } from '#test/kernel/stage.ts';
import {
  cache,
  ensureVm,
  hardwareHost,
  joinNode,
  startHost,
  untilOffered,
} from '#test/openstack/hardware-node.ts';
import { ensurePackages } from '#test/openstack/install/packages.ts';
import { restartCompute } from '#test/openstack/nodes.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { arqsOf, offer, removeCleanly, show } from '#test/openstack/servers.ts';
import { operatorOf, type Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';
import { fetchHypervisor, sharedFolder, startHypervisor, useLibvirt } from './hypervisor.ts';
import {
  actAndRead,
  bootTenant,
  found,
  looped,
  type Tenant,
  withinSeconds,
  wrote,
  zeros,
} from './tenant.ts';

const nvme = '0000:01:00.0';
/** Slots of fake_pci, whose cards fake_vgpu divides. */
const cards = { ahead: '0001:00:00.0', atBind: '0001:00:01.0' };
/** What tenants write to their devices. */
const texts = {
  ...{ first: 'what the first tenant has', second: 'what the second tenant has' },
  ...{ killed: 'what outlives its server', kept: 'what a loss of power keeps' },
  ...{ ahead: 'to an mdev made ahead', atBind: 'to an mdev made at bind' },
};

/** Before OpenStack is started. @throws CannotRun where the VM cannot run */
export function ensureGuest(): void {
  ensureVm();
  ensurePackages(['python3-libvirt']);
  fetchHypervisor(cache);
}

/** @param cleans false for a mutant: an agent whose settings erase nothing */
export function guest({ cleans }: { readonly cleans: boolean }): {
  readonly scenarios: readonly Scenario[];
  readonly end: () => Promise<void>;
} {
  const settings = {
    drivers: ['nvme', 'mdev', 'nvidia_gpu'],
    // nova-compute runs outside of the VM, where the agent does not find its release.
    attach_types: ['PCI', 'MDEV'],
    nvme: {
      devices: [nvme],
      ...(cleans ? { clean: 'format' } : { clean: 'none', data_may_stay: true }),
      clean_seconds: 280,
    },
    mdev: {
      pools: [{ parents: [cards.ahead], type: 'nvidia-558', resource_class: 'CUSTOM_AHEAD' }],
    },
    nvidia_gpu: {
      cards: [{ addresses: cards.atBind, vgpu_type: 'nvidia-558' }],
      made: 'at-bind',
    },
  };
  const running: { host?: Host; agent?: GuestProcess } = {};
  const node = (): Host => {
    assert.ok(running.host, 'The compute node has not joined.');
    return running.host;
  };
  const startAgent = async () => {
    running.agent = await node().startAgent(settings);
  };
  const removeAndClean = async (stage: Stage, ...tenants: readonly Tenant[]) => {
    for (const { id } of tenants) await removeCleanly(stage, id);
    await eventually(() => node().hosts.isClean(hardwareHost), Boolean, withinSeconds);
  };
  const bootMdevs = async (stage: Stage) => {
    const ahead = await bootTenant(stage, 'mdev-ahead', texts.ahead);
    const atBind = await bootTenant(stage, 'mdev-at-bind', texts.atBind);
    for (const { arq } of [ahead, atBind]) assert.equal(arq.attach_handle_type, 'MDEV');
    assert.ok(ahead.lines.includes(looped(texts.ahead)), ahead.note);
    assert.ok(atBind.lines.includes(looped(texts.atBind)), atBind.note);
    return [ahead, atBind] as const;
  };
  const scenarios: readonly Scenario[] = [
    {
      name: 'guest: a compute node with libvirt, QEMU and real drivers joins the cloud',
      run: async (stage) => {
        const { plan } = stage.cloud;
        const port = await freePort({ host: '127.0.0.1', port: 0 });
        const share = sharedFolder(plan, hardwareHost);
        useLibvirt(plan, hardwareHost, port);
        const prepare = (each: Host) => startHypervisor(each, share);
        const group = { name: 'guest', hypervisor: { share, port }, prepare };
        running.host = await startHost(stage, group, { system: fetchHypervisor(cache) });
        await startAgent();
        await joinNode(stage);
        const flavors = {
          nvme: 'CUSTOM_SSD',
          'mdev-ahead': 'CUSTOM_AHEAD',
          'mdev-at-bind': 'VGPU',
        };
        for (const [name, resourceClass] of Object.entries(flavors)) {
          await offer(stage, name, [{ [`resources:${resourceClass}`]: '1' }]);
        }
        const offered = await untilOffered(stage, Object.values(flavors));
        return `resource classes below the node: ${[...offered].sort().join(', ')}`;
      },
    },
    {
      name: 'guest: the next tenant of an NVMe device finds zeros where the last one wrote',
      run: async (stage) => {
        const first = await bootTenant(stage, 'nvme', texts.first);
        assert.deepEqual(first.lines.slice(0, 3), ['up', `found: ${zeros}`, wrote(texts.first)]);
        await removeAndClean(stage, first);
        const other = { ...stage, demo: stage.other };
        const second = await bootTenant(other, 'nvme', texts.second);
        assert.deepEqual(second.lines.slice(0, 3), ['up', `found: ${zeros}`, wrote(texts.second)]);
        await removeAndClean(other, second);
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
        await node().guest.run('pkill', '-KILL', '-f', `uuid ${tenant.id}`);
        await eventually(
          () => show(stage, tenant.id),
          ({ status, task }) => status === 'SHUTOFF' && task === null,
          withinSeconds,
        );
        const lines = await actAndRead(stage, tenant, { 'os-start': null });
        assert.equal(lines[1], found(texts.killed));
        await removeAndClean(stage, tenant);
        return lines.join(', ');
      },
    },
    {
      name: 'guest: a device that libvirt has left on the driver nvme is erased and on VFIO again',
      run: async (stage) => {
        const tenant = await bootTenant(stage, 'nvme', texts.killed);
        // As if libvirt had given the device back to the host before the agent looks again.
        await running.agent?.stop('SIGKILL');
        await removeCleanly(stage, tenant.id);
        await bindTo(node().guest, nvme, 'nvme');
        await startAgent();
        await removeAndClean(stage);
        const driver = await node().guest.link(`/sys/bus/pci/devices/${nvme}/driver`);
        assert.equal(driver, 'vfio-pci');
        const next = await bootTenant(stage, 'nvme', texts.second);
        assert.equal(next.lines[1], `found: ${zeros}`);
        await removeAndClean(stage, next);
        return next.note;
      },
    },
    {
      name: 'guest: servers exchange bytes with an mdev made ahead and one made at bind',
      run: async (stage) => {
        const tenants = await bootMdevs(stage);
        for (const [index, tenant] of tenants.entries()) {
          const text = index === 0 ? texts.ahead : texts.atBind;
          const lines = await actAndRead(stage, tenant, { reboot: { type: 'HARD' } });
          assert.ok(lines.includes(looped(text)), lines.join(', '));
        }
        await removeAndClean(stage, ...tenants);
        return [...tenants.map(({ note }) => note), 'again after a hard reboot of each'].join('\n');
      },
    },
    {
      name: 'guest: after a loss of power servers come back with their devices',
      run: async (stage) => {
        const kept = await bootTenant(stage, 'nvme', texts.kept);
        const mdevs = await bootMdevs(stage);
        await node().powerOff();
        await node().boot();
        const startedAt = performance.now();
        await startAgent();
        const all = [kept, ...mdevs];
        for (const { id } of all) {
          await eventually(
            () => arqsOf(stage, id),
            (arqs) => arqs.every(({ state }) => state === 'Bound'),
            withinSeconds,
          );
        }
        const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
        await restartCompute(stage, hardwareHost);
        const hard = { reboot: { type: 'HARD' } };
        const lines = await actAndRead(stage, kept, hard);
        assert.equal(lines[1], found(texts.kept));
        for (const tenant of mdevs) {
          const text = tenant === mdevs[0] ? texts.ahead : texts.atBind;
          assert.ok((await actAndRead(stage, tenant, hard)).includes(looped(text)));
        }
        await removeAndClean(stage, ...all);
        return `Bound again ${seconds} s after the start of the agent`;
      },
    },
  ];
  return { scenarios, end: async () => await running.host?.powerOff() };
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
