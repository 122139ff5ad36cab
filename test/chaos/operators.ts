// Operators who change what they can while servers boot, each change with the one that ends it.
// Two of them work at once, and do not know of each other.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { IoTClient } from '@aws-sdk/client-iot';
import { createRegistry } from '#core/clients/aws/host-registry.ts';
import { thingName } from '#core/contracts/topics.ts';
import { noteProgress } from '#local/demo/stillness.ts';
import { idOf } from '#local/openstack/keystone/catalog.ts';
import { type Layout, urlOf } from '#local/process/layout.ts';
import type { Random } from '#simulation/random.ts';
import { ask, type CloudHost, operate } from '#test/local/cloud-hosts.ts';

/** Vendor and product of the simulated GPU, and its component. */
const model = 'abcd:9b01';
const component = 'bios';
const project = idOf('project', 'demo');

interface Device {
  readonly uuid: string;
  readonly hostname: string;
  readonly status: string;
  readonly vendor: string;
}

export interface Operators {
  /** Changes one thing after the other, until the signal aborts. */
  work(stop: AbortSignal): Promise<void>;
  /** Ends what is left of their changes. */
  tidyUp(): Promise<void>;
  /** What must never be answered. */
  readonly broken: readonly string[];
  /** Verb → answers with success, and all. */
  readonly asked: ReadonlyMap<string, readonly [done: number, all: number]>;
}

interface OperatorsOptions {
  readonly layout: Layout;
  readonly hosts: readonly CloudHost[];
  /** The host that is lost, forgotten and enrolled again. */
  readonly spare: CloudHost;
  readonly random: Random;
}

export function createOperators({ layout, hosts, spare, random }: OperatorsOptions): Operators {
  const api = `${urlOf(layout, 'api')}/accelerator`;
  const broken: string[] = [];
  const asked = new Map<string, readonly [number, number]>();
  let versions = 1;

  /** Undefined without an answer, and while a part is away. */
  async function call(method: string, path: string, body?: unknown) {
    const answer = await ask(`${api}${path}`, method, body).catch(() => undefined);
    const verb = `${method} ${path.replaceAll(/[0-9a-f-]{36}|cmp\d/g, '*')}`;
    const [done, all] = asked.get(verb) ?? [0, 0];
    asked.set(verb, [done + Number(answer !== undefined && answer.status < 300), all + 1]);
    if (answer?.status === 500) broken.push(`${verb} is answered with ${JSON.stringify(answer)}.`);
    return answer && answer.status < 500 ? answer : undefined;
  }
  const post = (path: string, body: unknown = {}) => call('POST', `/operator/v1${path}`, body);
  const patch = (device: Device, change: object) =>
    call('PATCH', `/v2/devices/${device.uuid}`, [change]);
  const setStatus = (device: Device, value: string) =>
    patch(device, { op: 'replace', path: '/status', value });
  /** Leaves the hostile host out: it may report hundreds of devices. */
  const devices = async (): Promise<readonly Device[]> => {
    const all: readonly Device[] =
      (await call('GET', '/v2/devices?limit=1000'))?.json.devices ?? [];
    return all.filter(({ hostname }) => hosts.some(({ name }) => name === hostname));
  };
  const pause = () => delay(random.between(100, 2000));
  const soon = () => new Date(Date.now() + 3_600_000).toISOString();

  async function anImage(): Promise<string> {
    versions += 1;
    const id = crypto.randomUUID();
    const properties = {
      'accel:component': component,
      'accel:models': model,
      'accel:version': `${versions}.0`,
    };
    const glance = `${urlOf(layout, 'glance')}/v2/images`;
    await ask(glance, 'POST', { id, name: `${component}-${versions}`, ...properties });
    const headers = { 'X-Auth-Token': 'admin-token' };
    await fetch(`${glance}/${id}/file`, { method: 'PUT', headers, body: `${versions}.0\n` });
    return id;
  }

  const host = () => random.pick(hosts).name;
  const isFake = ({ vendor }: Device) => vendor.toLowerCase().endsWith('abcd');
  const changes: Readonly<Record<string, () => Promise<unknown>>> = {
    drain: async () => {
      const name = host();
      await post(`/hosts/${name}/drain`, { reason: 'chaos' });
      await pause();
      await post(`/hosts/${name}/resume`);
    },
    rediscover: () => post(`/hosts/${host()}/rediscover`),
    disable: async () => {
      const device = await anyDevice();
      if (!device) return;
      await setStatus(device, 'maintaining');
      await pause();
      await setStatus(device, 'enabled');
    },
    reset: async () => {
      const device = await anyDevice();
      if (device) await post(`/devices/${device.uuid}/reset`, { reason: 'chaos' });
    },
    hold: async () => {
      const answer = await post('/holds', { hostname: host(), type: 'GPU', reason: 'chaos' });
      await pause();
      if (answer?.json?.id) await call('DELETE', `/operator/v1/holds/${answer.json.id}`);
    },
    grant: async () => {
      const device = await anyDevice();
      if (!device) return;
      await post(`/devices/${device.uuid}/grant`, { project_id: project, until: soon() });
      await pause();
      await post(`/devices/${device.uuid}/revoke`, { project_id: project });
    },
    quota: async () => {
      const path = `/operator/v1/quotas/${project}`;
      await call('PUT', path, { limits: { PGPU: random.between(0, 3) } });
      await pause();
      await call('DELETE', path);
    },
    profile: async () => {
      const name = random.pick(['gpu', 'vgpu', 'pair', 'quad']);
      await post(`/device_profiles/${name}/disable`);
      await pause();
      await post(`/device_profiles/${name}/enable`);
    },
    program: async () => {
      const [device] = (await devices()).filter(isFake);
      if (!device) return;
      await setStatus(device, 'maintaining');
      await patch(device, { op: 'add', path: `/firmware/${component}`, value: await anImage() });
      await pause();
      await setStatus(device, 'enabled');
    },
    baseline: async () => {
      const path = `/operator/v1/firmware/baselines/${model}:${component}`;
      await call('PUT', path, { version: `${versions}.0` });
      await pause();
      await call('DELETE', path);
    },
    reconcile: () => post('/reconcile', { host: host() }),
    forget: async () => {
      await spare.agent().killHard();
      await call('DELETE', `/operator/v1/hosts/${spare.name}`);
      spare.startAgent();
    },
    revoke: async () => {
      const { code } = await operate(layout, ['enrol', 'revoke', spare.name, ...stage]);
      if (code === 0) {
        const left = await activeCertificates(layout, spare);
        if (left.length > 0) broken.push(`${spare.name} is revoked, and has ${left.join(', ')}.`);
      }
      await enrolAgain();
    },
  };
  const stage = ['--stage', layout.stage];
  let isChangingSpare = false;

  async function anyDevice(): Promise<Device | undefined> {
    const all = await devices();
    return all.length > 0 ? random.pick(all) : undefined;
  }

  async function enrolAgain(): Promise<void> {
    await spare.agent().killHard();
    for (let isDone = false; !isDone; ) {
      rmSync(join(layout.directory, 'enrolled', spare.name), { recursive: true, force: true });
      isDone = await spare.enrol(layout).then(
        () => true,
        () => false,
      );
      // The broker is away, or has a certificate of an attempt that was lost.
      if (!isDone) await operate(layout, ['enrol', 'revoke', spare.name, ...stage]);
    }
    spare.startAgent();
  }

  async function change(name: string): Promise<void> {
    const isOfSpare = name === 'forget' || name === 'revoke';
    // One agent of the spare host runs at a time.
    if (isOfSpare && isChangingSpare) return;
    if (isOfSpare) isChangingSpare = true;
    try {
      await changes[name]?.();
    } finally {
      if (isOfSpare) isChangingSpare = false;
    }
  }

  return {
    broken,
    asked,
    work: async (stop) => {
      while (!stop.aborted) {
        await change(random.pick(Object.keys(changes)));
        noteProgress();
        await pause();
      }
    },
    tidyUp: async () => {
      const profiles = ['gpu', 'vgpu', 'pair', 'quad'];
      for (const name of profiles) await post(`/device_profiles/${name}/enable`);
      for (const { name } of hosts) await post(`/hosts/${name}/resume`);
      const holds = (await call('GET', '/operator/v1/holds'))?.json.holds ?? [];
      for (const { id } of holds) await call('DELETE', `/operator/v1/holds/${id}`);
      await call('DELETE', `/operator/v1/quotas/${project}`);
      await call('DELETE', `/operator/v1/firmware/baselines/${model}:${component}`);
      for (const device of await devices()) {
        if (device.status !== 'enabled') await setStatus(device, 'enabled');
      }
    },
  };
}

async function activeCertificates({ stage }: Layout, { name }: CloudHost): Promise<string[]> {
  const client = new IoTClient();
  try {
    const certificates = await createRegistry(client, stage).certificatesOf(thingName(stage, name));
    return certificates.filter(({ status }) => status === 'ACTIVE').map(({ id }) => id);
  } finally {
    client.destroy();
  }
}
