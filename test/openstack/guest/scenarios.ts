// Servers that really use their devices: nova-compute with Nova's libvirt driver; libvirtd, QEMU
// and our agent in a VM with a real kernel.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '#local/ports.ts';
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
import type { Scenario } from '#test/openstack/scenario.ts';
import { assertHas, build, offer, putImage, removeCleanly } from '#test/openstack/servers.ts';
import { operatorOf, type Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';
import { bootImage } from './boot-image.ts';
import { fetchHypervisor, sharedFolder, startHypervisor, useLibvirt } from './hypervisor.ts';

const nvme = '0000:01:00.0';
/** What two tenants write to the NVMe device. */
const texts = { first: 'what the first tenant has', second: 'what the second tenant has' };
const zeros = '.'.repeat(32);
/** A guest in a guest without KVM, on a busy machine. */
const withinSeconds = 300;

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
    drivers: ['nvme'],
    // nova-compute runs outside of the VM, where the agent does not find its release.
    attach_types: ['PCI', 'MDEV'],
    nvme: {
      devices: [nvme],
      ...(cleans ? { clean: 'format' } : { clean: 'none', data_may_stay: true }),
      clean_seconds: 280,
    },
  };
  let host: Host | undefined;
  const node = (): Host => {
    assert.ok(host, 'The compute node has not joined.');
    return host;
  };
  const untilClean = async () => {
    await eventually(() => node().hosts.isClean(hardwareHost), Boolean, withinSeconds);
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
        host = await startHost(stage, group, { system: fetchHypervisor(cache) });
        await host.startAgent(settings);
        await joinNode(stage);
        await offer(stage, 'nvme', [{ 'resources:CUSTOM_SSD': '1' }]);
        const offered = await untilOffered(stage, ['CUSTOM_SSD']);
        return `resource classes below the node: ${[...offered].sort().join(', ')}`;
      },
    },
    {
      name: 'guest: the next tenant of an NVMe device finds zeros where the last one wrote',
      run: async (stage) => {
        const first = await bootTenant(stage, texts.first);
        assert.deepEqual(first.lines, ['up', `found: ${zeros}`, `wrote: ${padded(texts.first)}`]);
        await removeCleanly(stage, first.id);
        await untilClean();
        const second = await bootTenant({ ...stage, demo: stage.other }, texts.second);
        const wrote = `wrote: ${padded(texts.second)}`;
        assert.deepEqual(second.lines, ['up', `found: ${zeros}`, wrote]);
        await removeCleanly({ ...stage, demo: stage.other }, second.id);
        await untilClean();
        const evidence = await eventually(
          () => evidenceOf(stage),
          (each) =>
            each.filter((text) => text.includes('"format_status":"completed"')).length === 2,
        );
        return [...first.notes, ...second.notes, ...evidence].join('\n');
      },
    },
  ];
  return { scenarios, end: async () => await host?.powerOff() };
}

/** Builds a server with the NVMe device, and waits until its guest has used it. */
async function bootTenant(stage: Stage, text: string) {
  const image = await putImage(stage, text, bootImage(text), { hw_machine_type: 'q35' });
  const built = await build(stage, 'nvme', { image });
  await assertHas(stage, built, 1);
  const startedAt = performance.now();
  const lines = await consoleOf(stage, built.id);
  const seconds = (performance.now() - startedAt) / 1000;
  const active = `ACTIVE after ${built.seconds.toFixed(1)} s, used after ${seconds.toFixed(1)} s`;
  const used = lines.slice(0, 3);
  return { id: built.id, lines: used, notes: [`${active}: ${used.slice(1).join(', ')}`] };
}

/** All lines that the guest has printed, when it has done its work. */
async function consoleOf({ cloud: { plan } }: Stage, id: string): Promise<string[]> {
  const file = join(sharedFolder(plan, hardwareHost), id, 'console.log');
  return eventually(
    async () => readFileSync(file, 'latin1').trim().split(/\r?\n/),
    (lines) => lines.includes('done') || lines.includes('the disk failed'),
    withinSeconds,
  );
}

/** What the history says of each cleaning of the node's one device. */
async function evidenceOf(stage: Stage): Promise<string[]> {
  const path = `/devices?hostname=${hardwareHost}`;
  const [device] = (await stage.admin.accelerator.ask('GET', path)).body.devices;
  const operator = await operatorOf(stage);
  const cleaned = `/history?device=${device?.uuid}&kind=handle.cleaned`;
  const { history } = (await operator.ask('GET', cleaned)).body;
  return history.map((each) => JSON.stringify(each.evidence));
}

function padded(text: string): string {
  return text.padEnd(32, '-');
}
