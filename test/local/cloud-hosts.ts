// Compute nodes of a local system whose agents a test enrols, starts, kills and boots by itself,
// and servers of the fake Nova with their devices.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createStore } from '#core/deps.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { announceHost } from '#local/demo/announce-host.ts';
import { waitFor } from '#local/demo/demo-client.ts';
import { SysfsTree } from '#local/demo/sysfs-tree.ts';
import { environmentOf, type Layout, urlOf } from '#local/process/layout.ts';
import { type AgentProcess, run } from '#test/agent/agent-process.ts';

const gpuAddresses = ['0000:3b:00.0', '0000:af:00.0'] as const;

/** Eight GPUs by NUMA node, as on a board. Two of each node share an IOMMU group. */
const boardAddresses = [
  ['0000:11:00.0', '0000:12:00.0', '0000:41:00.0', '0000:42:00.0'],
  ['0000:86:00.0', '0000:87:00.0', '0000:b6:00.0', '0000:b7:00.0'],
] as const;

export const profiles = {
  gpu: [{ 'resources:PGPU': '1' }],
  vgpu: [{ 'resources:VGPU': '1', 'trait:CUSTOM_ABCD_9B01_FAKE_1': 'required' }],
  pair: [{ 'resources:CUSTOM_BOARD_GPU': '2' }],
  quad: [{ 'resources:CUSTOM_BOARD_GPU': '4', 'accel:same': 'numa' }],
} as const;
export type Kind = keyof typeof profiles;

/** How many devices a server has. */
export const unitsOf: Readonly<Record<Kind, number>> = { gpu: 1, vgpu: 1, pair: 2, quad: 4 };

/**
 * What the host may offer: two GPUs as they are, a simulated one that makes four vGPUs, and a
 * board as a pool.
 */
const offered = {
  drivers: ['pci', 'fake_gpu'],
  pci: {
    allow_list: [
      { vendor_id: '10de', product_id: '1eb8', device_type: 'GPU', resource_class: 'PGPU' },
      {
        vendor_id: '10de',
        product_id: '2330',
        resource_class: 'CUSTOM_BOARD_GPU',
        pool: 'board',
      },
    ],
  },
};

export interface CloudHost {
  readonly name: string;
  readonly sysfs: SysfsTree;
  /** The agent that was started last. */
  agent(): AgentProcess;
  /** Gives the host an identity in this system, with the operators' command. */
  enrol(layout: Layout, by?: Enrolling): Promise<void>;
  startAgent(): void;
  /** From here on the host is booted once more; its mdevs are gone. */
  boot(): void;
  /** The mdevs of the simulated GPU, by their uuids. */
  mdevs(): string[];
  /** Milliseconds that the simulated GPU takes, and whether it is out of its slot. */
  slowDown(delayMs: Readonly<Record<string, number>>, unplugged?: boolean): void;
  /** The operation in which the simulated GPU is slowed down at this moment. */
  waitsIn(): string | undefined;
}

/**
 * Enrols the host in the folder `enrolled` of the system, which has its settings.
 *
 * @param local options for a broker and a host on this machine
 */
export type Enrolling = (layout: Layout, host: string, local: readonly string[]) => Promise<void>;

const enrolByCommand: Enrolling = async (layout, host, local) => {
  const folder = join(layout.directory, 'enrolled', host);
  const words = ['--stage', layout.stage, '--settings', `${folder}.json`, '--out', folder];
  const told = await operate(layout, ['enrol', 'add', host, ...words, ...local]);
  expect(told.code, told.output).toBe(0);
};

/** @param directory outlives the systems in which the host is enrolled */
export function createHost(
  name: string,
  directory: string,
  { hasBoard = false }: { readonly hasBoard?: boolean } = {},
): CloudHost {
  const home = join(directory, name);
  const sysfs = new SysfsTree(join(home, 'sys'));
  for (const address of gpuAddresses) {
    sysfs.addFunction({ address, vendor: '10de', product: '1eb8', classCode: '030200' });
  }
  if (hasBoard) addBoard(sysfs);
  const hardware = join(home, 'state/drivers/fake-hardware');
  const bootIdFile = join(home, 'boot_id');
  let folder = '';
  let agent: AgentProcess | undefined;
  const boot = () => writeFileSync(bootIdFile, `${crypto.randomUUID()}\n`);
  boot();
  return {
    name,
    sysfs,
    agent: () => {
      if (!agent) throw new Error(`The agent of ${name} was never started.`);
      return agent;
    },
    async enrol(layout, by = enrolByCommand) {
      const parent = join(layout.directory, 'enrolled');
      folder = join(parent, name);
      mkdirSync(parent, { recursive: true });
      const settings = join(parent, `${name}.json`);
      const own = {
        state_dir: join(home, 'state'),
        sysfs_root: sysfs.root,
        boot_id_file: bootIdFile,
        interval_seconds: 1,
        image_source: urlOf(layout, 's3'),
      };
      writeFileSync(settings, JSON.stringify({ ...offered, ...own }));
      await by(layout, name, [
        ...['--at', folder, '--port', String(layout.ports.mqtt)],
        ...['--ca', join(layout.directory, 'certificates/authority.pem')],
      ]);
    },
    startAgent: () => {
      agent = run('edge-agent/main.ts', { CYBORG_AGENT_CONFIG: join(folder, 'agent.json') });
    },
    boot,
    mdevs: () => {
      // The host has made none yet.
      if (!existsSync(join(hardware, 'gpu.json'))) return [];
      const { boot_id, state } = JSON.parse(readFileSync(join(hardware, 'gpu.json'), 'utf8'));
      if (boot_id !== readFileSync(bootIdFile, 'utf8').trim()) return [];
      return state.mdevs.map(({ uuid }: { uuid: string }) => uuid).sort();
    },
    slowDown: (delayMs, unplugged = false) => {
      mkdirSync(hardware, { recursive: true });
      writeFileSync(join(hardware, 'faults.json'), JSON.stringify({ delayMs, unplugged }));
    },
    waitsIn: () => {
      const file = join(hardware, 'waits.json');
      return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).operation : undefined;
    },
  };
}

function addBoard(sysfs: SysfsTree): void {
  for (const [numaNode, addresses] of boardAddresses.entries()) {
    for (const [index, address] of addresses.entries()) {
      const iommuGroup = 100 + 10 * numaNode + Math.max(index, 1);
      const ids = { vendor: '10de', product: '2330', classCode: '030200' };
      sysfs.addFunction({ address, ...ids, numaNode, iommuGroup });
    }
  }
}

/** One command of the operators, with the settings of this system's functions. */
export async function operate(
  layout: Layout,
  words: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  const command = run('operate/cyborg-ops.ts', environmentOf(layout), words);
  return { code: await command.exited(), output: command.output() };
}

interface Answer {
  readonly status: number;
  readonly json: ReturnType<typeof JSON.parse>;
}

/** @throws if there is no answer */
export async function ask(
  url: string,
  method = 'GET',
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { 'X-Auth-Token': 'admin-token', 'Content-Type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(60_000),
  }).catch((cause: unknown) => {
    throw new Error(`${method} ${url} has no answer`, { cause });
  });
  const text = await response.text();
  return { status: response.status, json: text === '' ? undefined : JSON.parse(text) };
}

export interface Cloud {
  /** Compute nodes, profiles and flavors. */
  prepare(hosts: readonly CloudHost[]): Promise<void>;
  /** Asks for a server; undefined where Nova refuses the request. */
  create(kind: Kind): Promise<string | undefined>;
  /** The server's state once it is no longer being built. */
  built(server: string): Promise<string>;
  /** A server that is ACTIVE. */
  boot(kind: Kind): Promise<string>;
  /** Nova's delete, until the server is gone. */
  remove(server: string): Promise<void>;
  /** Undefined for a server that is gone. */
  server(id: string): Promise<{ readonly status: string; readonly host: string } | undefined>;
}

/** @param layout of the system that has the fakes of OpenStack and, at first, the API */
export function createCloud(layout: Layout): Cloud {
  const nova = `${urlOf(layout, 'nova')}/v2.1`;
  const cloud: Cloud = {
    async prepare(hosts) {
      for (const { name } of hosts) await announceHost(layout, name);
      for (const [name, groups] of Object.entries(profiles)) {
        const api = `${urlOf(layout, 'api')}/accelerator/v2`;
        await ask(`${api}/device_profiles`, 'POST', [{ name, groups }]);
        const flavor = { id: name, name, vcpus: 1, ram: 64, disk: 1 };
        await ask(`${nova}/flavors`, 'POST', { flavor });
        const extra_specs = { 'accel:device_profile': name };
        await ask(`${nova}/flavors/${name}/os-extra_specs`, 'POST', { extra_specs });
      }
    },
    async create(kind) {
      const body = { server: { name: `vm-${kind}`, flavorRef: kind } };
      const token = { 'X-Auth-Token': 'demo-token' };
      const { status, json } = await ask(`${nova}/servers`, 'POST', body, token);
      return status === 202 ? json.server.id : undefined;
    },
    async built(id) {
      const server = await waitFor(
        `Nova to build server ${id}`,
        () => cloud.server(id),
        (found) => found?.status !== 'BUILD',
      );
      return server?.status ?? 'gone';
    },
    async boot(kind) {
      const id = await cloud.create(kind);
      expect(id, `a server with ${kind}`).toBeDefined();
      expect(await cloud.built(id ?? ''), `the server with ${kind}`).toBe('ACTIVE');
      return id ?? '';
    },
    async remove(id) {
      await ask(`${nova}/servers/${id}`, 'DELETE');
      await waitFor(
        `server ${id} to be gone`,
        () => cloud.server(id),
        (found) => found === undefined,
      );
    },
    async server(id) {
      const { status, json } = await ask(`${nova}/servers/${id}`);
      if (status === 404) return undefined;
      return { status: json.server.status, host: json.server['OS-EXT-SRV-ATTR:host'] };
    },
  };
  return cloud;
}

/** A handle, and the host and the device that it belongs to. */
export interface PlacedHandle extends AttachHandle {
  readonly host: string;
  readonly address: string;
}

/** The stored handles of these hosts, by the AWS endpoints of this process. */
export async function handlesOf(stage: string, hosts: readonly CloudHost[]) {
  const { store } = createStore(createDocuments(), stage);
  const found: PlacedHandle[] = [];
  for (const { name } of hosts) {
    const { devices } = await store.inventory.host(name);
    for (const { address, providers } of devices) {
      for (const { handles } of await store.inventory.providers(providers)) {
        found.push(...handles.map((each) => ({ ...each, host: name, address })));
      }
    }
  }
  return found;
}
