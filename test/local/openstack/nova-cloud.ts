// A small cloud for the tests of the fake Nova: one host with two FPGAs, two flavors, and a fake
// accelerator API.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import * as z from 'zod';
import { createHttp } from '#core/clients/http.ts';
import { createKeystone } from '#core/clients/openstack/keystone/keystone.ts';
import { createPlacement, type Placement } from '#core/clients/openstack/placement.ts';
import { silentLog } from '#core/log.ts';
import { serviceCredentials, startKeystone } from '#local/openstack/keystone/keystone.ts';
import { type FakeNova, type FakeNovaOptions, startNova } from '#local/openstack/nova/nova.ts';
import { startPlacement } from '#local/openstack/placement/placement.ts';
import { eventually, met } from '#test/support/vitest/eventually.ts';
import { type AcceleratorDouble, anAcceleratorApi } from './accelerator-double.ts';

interface CallOptions {
  readonly token?: string;
  readonly version?: string;
  readonly body?: unknown;
}

type View = Record<string, unknown>;

export interface Cloud {
  nova: FakeNova;
  readonly accelerators: AcceleratorDouble;
  readonly placement: Placement;
  /** Provider of the two FPGAs. */
  device: string;
  /** Kills Nova and restarts it from its state. */
  restartNova(options?: Partial<FakeNovaOptions>): Promise<void>;
  stop(): Promise<void>;

  call(method: string, path: string, options?: CallOptions): Promise<Response>;
  aFlavor(id: string, extraSpecs: Record<string, string>): Promise<void>;
  create(flavor: string, token?: string): Promise<Response>;
  /** Creates a server that Nova accepts; returns its id. */
  boot(flavor: string): Promise<string>;
  show(id: string): Promise<View>;
  /** Returns the server when its task has ended. */
  settled(id: string): Promise<View>;
  /** ARQs for whose events nova-compute waits; it starts to wait before it lists them. */
  waitedFor(): Promise<string[]>;
  /** Posts an event as Cyborg does; returns its codes. */
  post(id: string, tag: string, status?: string): Promise<number[]>;
}

const loopback = { host: '127.0.0.1', port: 0 };

export const eventCodes = z.object({ events: z.array(z.object({ code: z.number() })) });
const serverBody = z.object({ server: z.looseObject({ id: z.string() }) });

export function anEvent(server_uuid: string, tag = 'a') {
  return { name: 'accelerator-request-bound', server_uuid, tag, status: 'completed' };
}

export async function aCloud(): Promise<Cloud> {
  const directory = mkdtempSync(join(tmpdir(), 'nova-'));
  const keystone = await startKeystone(loopback);
  const keystoneUrl = keystone.url;
  const placementService = await startPlacement({ ...loopback, keystoneUrl });
  const accelerators = await anAcceleratorApi();
  keystone.announce('placement', placementService.url);
  keystone.announce('accelerator', accelerators.url);
  const settings = serviceCredentials('cyborg', keystoneUrl);
  const identity = createKeystone({ settings, clock: Date.now, log: silentLog });
  const placement = createPlacement({ identity, http: createHttp() });

  const start = (options: Partial<FakeNovaOptions> = {}) => {
    const stateFile = join(directory, 'state.json');
    return startNova({ ...loopback, keystoneUrl, stateFile, handOverMs: 1, ...options });
  };

  const cloud: Cloud = {
    nova: await start(),
    accelerators,
    placement,
    device: '',
    restartNova: async (options) => {
      await cloud.nova.stop();
      cloud.nova = await start(options);
    },
    stop: async () => {
      await cloud.nova.stop();
      for (const service of [accelerators, placementService, keystone]) await service.stop();
      rmSync(directory, { recursive: true });
    },

    call: (method, path, { token = 'demo-token', version = '2.82', body } = {}) => {
      const headers = { 'X-Auth-Token': token, 'OpenStack-API-Version': `compute ${version}` };
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      return fetch(`${cloud.nova.url}${path}`, { method, headers, ...sent });
    },
    aFlavor: async (id, extra_specs) => {
      const token = 'admin-token';
      const flavor = { id, name: id, vcpus: 1, ram: 64, disk: 1 };
      await cloud.call('POST', '/flavors', { token, body: { flavor } });
      await cloud.call('POST', `/flavors/${id}/os-extra_specs`, { token, body: { extra_specs } });
    },
    create: (flavorRef, token = 'demo-token') => {
      const server = { name: 'vm', flavorRef, networks: 'none' };
      return cloud.call('POST', '/servers', { token, body: { server } });
    },
    boot: async (flavor) => {
      const response = await cloud.create(flavor);
      expect(response.status).toBe(202);
      return serverBody.parse(await response.json()).server.id;
    },
    show: async (id) => {
      const response = await cloud.call('GET', `/servers/${id}`);
      return serverBody.parse(await response.json()).server;
    },
    settled: (id) =>
      met(
        async () => {
          const server = await cloud.show(id);
          expect(server['OS-EXT-STS:task_state']).toBeNull();
          return server;
        },
        { intervalMs: 5 },
      ),
    waitedFor: async () => {
      const last = 'nova-compute GET /accelerator_requests?instance=';
      await eventually(() => accelerators.calls.at(-1), { intervalMs: 5 }).toBe(last);
      return [...accelerators.arqs.keys()];
    },
    post: async (id, tag, status = 'completed') => {
      const body = { events: [{ ...anEvent(id, tag), status }] };
      const options = { token: 'cyborg-token', body };
      const response = await cloud.call('POST', '/os-server-external-events', options);
      return eventCodes.parse(await response.json()).events.map(({ code }) => code);
    },
  };
  cloud.device = await aDeviceOn(cloud, 'cmp1');
  await cloud.aFlavor('plain', {});
  await cloud.aFlavor('accelerated', { 'accel:device_profile': 'fpga' });
  return cloud;
}

/** Adds a host with two FPGAs on one provider. */
async function aDeviceOn({ call, placement }: Cloud, name: string): Promise<string> {
  await call('POST', '/hosts', { token: 'admin-token', body: { name } });
  const host = await placement.findProviderByName(name);
  const uuid = crypto.randomUUID();
  await placement.createProvider({ uuid, name: `${name}_card`, parentUuid: host?.uuid ?? '' });
  const generation = await placement.putInventories(uuid, 0, { FPGA: { total: 2 } });
  await placement.putTraits(uuid, generation, ['OWNER_CYBORG']);
  return uuid;
}
