// The stage of a group's scenarios: one host, which may be powered off and booted again, and the
// cloud outside.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '#test/support/suites/rest.ts';
import type { Cloud, HostCloud } from './cloud.ts';
import { installedQemu, type Qemu } from './debian/qemu.ts';
import type { Guest, GuestProcess } from './machine/guest.ts';
import type { Image } from './machine/image.ts';
import { type Machine, startMachine } from './machine/machine.ts';
import type { Group } from './scenario.ts';

/** The agent, as it is bundled before a VM boots. */
export const bundle = join(import.meta.dirname, '../../dist/cyborg-agent.mjs');
/** Where docs/agent.md installs the agent. */
export const agentProgram = '/usr/local/lib/cyborg-agent/cyborg-agent.mjs';
const stateMegabytes = 64;
/** Also two versions of the agent and its Node, while one replaces the other; or a hypervisor. */
const systemMegabytes = 1024;
const nvmeMegabytes = 64;

export interface StageOptions {
  readonly group: Group;
  readonly image: Image;
  readonly hosts: HostCloud | undefined;
  /** With the fakes of OpenStack. */
  readonly cloud?: Cloud | undefined;
  /** Another QEMU than that of the machine. */
  readonly qemu?: Qemu;
  /** What the disk of the state has at first: a whole system with its first process. */
  readonly system?: string;
  /** Disks and logs are here. */
  readonly directory: string;
}

export class Stage {
  readonly #options: StageOptions;
  readonly #disks: { readonly state: string; readonly nvme: string };
  #machine: Machine | undefined;

  constructor(options: StageOptions) {
    const file = (kind: string) => join(options.directory, `${options.group.name}.${kind}`);
    this.#options = options;
    this.#disks = { state: file('state'), nvme: file('nvme') };
    for (const path of [file('log'), ...Object.values(this.#disks)]) rmSync(path, { force: true });
    const { system } = options;
    const content = system === undefined ? [] : ['-d', system];
    const megabytes = system === undefined ? stateMegabytes : systemMegabytes;
    execFileSync('/sbin/mkfs.ext4', ['-q', ...content, this.#disks.state, `${megabytes}M`]);
    writeFileSync(this.#disks.nvme, '');
    truncateSync(this.#disks.nvme, nvmeMegabytes * 1024 * 1024);
  }

  get guest(): Guest {
    assert.ok(this.#machine, 'The host is powered off.');
    return this.#machine.guest;
  }

  get monitor(): Machine['monitor'] {
    assert.ok(this.#machine, 'The host is powered off.');
    return this.#machine.monitor;
  }

  get cloud(): Cloud {
    assert.ok(this.#options.cloud, 'This group has no cloud.');
    return this.#options.cloud;
  }

  get hosts(): HostCloud {
    assert.ok(this.#options.hosts, 'This group has no cloud.');
    return this.#options.hosts;
  }

  /** The host's name in Nova. */
  get hostname(): string {
    return this.#options.group.hostname ?? '';
  }

  /** @param added arguments of QEMU: devices that this boot has, beside those of every VM */
  async boot(added: readonly string[] = []): Promise<void> {
    const { group, image, hosts, directory, qemu = installedQemu } = this.#options;
    this.#machine = await startMachine({
      image,
      qemu,
      networkCard: group.networkCard === true,
      numa: group.numa === true,
      hypervisor: group.hypervisor,
      added,
      disks: this.#disks,
      log: join(directory, `${group.name}.log`),
      ...(hosts && group.hostname && { broker: hosts.brokerPort, images: hosts.imagesPort }),
    });
    await group.prepare(this);
  }

  /** Pulls the plug: only the disks remain. */
  async powerOff(): Promise<void> {
    await this.#machine?.powerOff();
    this.#machine = undefined;
  }

  /**
   * Installs the agent's bundle as docs/agent.md says, starts it, and waits until the control
   * plane knows the boot.
   */
  async startAgent(settings: Readonly<Record<string, unknown>>): Promise<GuestProcess> {
    const { guest } = this;
    await guest.save(agentProgram, readFileSync(bundle));
    const config = await this.enrol(settings);
    const agent = await guest.start('agent', ['node', agentProgram], {
      CYBORG_AGENT_CONFIG: config,
    });
    await agent.line((line) => line.includes('"Inventory reported"'));
    await this.untilBootKnown();
    return agent;
  }

  /** Gives the host its identity and its settings. @returns the file of the settings */
  async enrol(settings: Readonly<Record<string, unknown>>): Promise<string> {
    const { hosts, guest, hostname } = this;
    const home = '/etc/cyborg-agent';
    const files = Object.entries(await hosts.enrol(hostname));
    for (const [name, content] of files) await guest.save(`${home}/${name}`, content);
    const all = {
      hostname,
      stage: hosts.stage,
      endpoint: 'localhost:8883',
      certificate: `${home}/certificate.pem`,
      key: `${home}/key.pem`,
      ca: `${home}/authorities.pem`,
      interval_seconds: 5,
      ...settings,
    };
    await guest.save(`${home}/agent.json`, JSON.stringify(all));
    return `${home}/agent.json`;
  }

  async untilBootKnown(): Promise<void> {
    const { hosts, guest, hostname } = this;
    await eventually(
      () => hosts.bootIdOf(hostname),
      (known) => known === guest.bootId,
      120,
    );
  }
}
