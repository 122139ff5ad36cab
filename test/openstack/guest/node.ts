// The compute node of these scenarios: what its agent offers, and what happens to the host.

import assert from 'node:assert/strict';
import { freePort } from '#local/ports.ts';
import type { GuestProcess } from '#test/kernel/machine/guest.ts';
import type { Stage as Host } from '#test/kernel/stage.ts';
import {
  cache,
  ensureVm,
  hardwareHost,
  joinNode,
  startHost,
  untilOffered,
} from '#test/openstack/hardware-node.ts';
import { offer, removeCleanly } from '#test/openstack/servers.ts';
import { operatorOf, type Stage } from '#test/openstack/stage.ts';
import { ensurePackages } from '#test/support/suites/debian.ts';
import { eventually } from '#test/support/suites/rest.ts';
import {
  fetchHypervisor,
  sharedFolder,
  startHypervisor,
  startLibvirt,
  useLibvirt,
} from './hypervisor.ts';
import { type Tenant, withinSeconds } from './tenant.ts';

export const nvme = '0000:01:00.0';
/** Slots of fake_pci, whose cards fake_vgpu divides. */
const cards = { ahead: '0001:00:00.0', atBind: '0001:00:01.0' };
/** The agent's; each offers one device. */
const drivers = ['nvme', 'mdev', 'nvidia_gpu'];
/** Flavors with a device of the class. */
export const flavors = {
  nvme: 'CUSTOM_SSD',
  'mdev-ahead': 'CUSTOM_AHEAD',
  'mdev-at-bind': 'VGPU',
};

/** Before OpenStack is started. @throws CannotRun where the VM cannot run */
export function ensureGuest(): void {
  ensureVm();
  ensurePackages(['python3-libvirt']);
  fetchHypervisor(cache);
}

export class GuestNode {
  readonly #settings: Readonly<Record<string, unknown>>;
  #host: Host | undefined;
  #agent: GuestProcess | undefined;
  #libvirtd: GuestProcess | undefined;

  /** @param cleans false for a mutant: an agent whose settings erase nothing */
  constructor({ cleans }: { readonly cleans: boolean }) {
    this.#settings = {
      drivers,
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
  }

  get host(): Host {
    assert.ok(this.#host, 'The compute node has not joined.');
    return this.#host;
  }

  /** Returns the resource classes that are offered below the node. */
  async join(stage: Stage): Promise<readonly string[]> {
    const { plan } = stage.cloud;
    const port = await freePort({ host: '127.0.0.1', port: 0 });
    const share = sharedFolder(plan, hardwareHost);
    useLibvirt(plan, hardwareHost, port);
    const prepare = async (each: Host) => {
      this.#libvirtd = await startHypervisor(each, share);
    };
    const group = { name: 'guest', hypervisor: { share, port }, prepare };
    this.#host = await startHost(stage, group, { system: fetchHypervisor(cache) });
    await this.startAgent();
    await joinNode(stage);
    for (const [name, resourceClass] of Object.entries(flavors)) {
      await offer(stage, name, [{ [`resources:${resourceClass}`]: '1' }]);
    }
    const offered = await untilOffered(stage, Object.values(flavors));
    const { devices } = (await (await operatorOf(stage)).ask('GET', `/hosts/${hardwareHost}`)).body;
    assert.deepEqual(devices.map(({ driver }) => driver).sort(), [...drivers].sort());
    return [...offered].sort();
  }

  async startAgent(): Promise<void> {
    this.#agent = await this.host.startAgent(this.#settings);
  }

  async killAgent(): Promise<void> {
    await this.#agent?.stop('SIGKILL');
  }

  /** Its servers go on. */
  async restartLibvirt(): Promise<void> {
    await this.#libvirtd?.stop();
    this.#libvirtd = await startLibvirt(this.host.guest);
  }

  /** Deletes the servers, and waits until the host has cleaned up after them. */
  async removeAndClean(stage: Stage, ...tenants: readonly Tenant[]): Promise<void> {
    for (const { id } of tenants) await removeCleanly(stage, id);
    await eventually(() => this.host.hosts.isClean(hardwareHost), Boolean, withinSeconds);
  }

  async powerOff(): Promise<void> {
    await this.#host?.powerOff();
  }
}
