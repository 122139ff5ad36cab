// What the console shows in this suite: the local system as `npm start` has it, with the host of
// the demo, hosts of which only the reports are there, servers, and something of each incident.

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ConsumerDeps, createConsumerDeps } from '#core/consumer-deps.ts';
import { providerUuid } from '#core/domain/ids.ts';
import type { PolicyRule } from '#core/domain/policy.ts';
import { silentLog } from '#core/log.ts';
import { noMetrics } from '#core/metrics.ts';
import { failBind } from '#core/operations/bind/finish-bind.ts';
import { quarantine } from '#core/operations/release/quarantine.ts';
import { announceHost } from '#local/demo/announce-host.ts';
import { type Client, client, waitFor } from '#local/demo/demo-client.ts';
import { demoAgent, demoHostname } from '#local/demo/demo-host.ts';
import { bundleConsole } from '#local/process/bundle.ts';
import { chooseLayout, consoleDirectory, type Layout, urlOf } from '#local/process/layout.ts';
import { consoleUrl } from '#local/process/parts.ts';
import { type AgentOptions, type System, startSystem } from '#local/process/system.ts';
import { bindPatch } from '#test/support/bind-patch.ts';
import { aDevice, aGpu, aHandle, applySettled, aReport } from '#test/support/reports.ts';

const operatorLists = [
  'cyborg:operator:host:get_all',
  'cyborg:operator:host:get_one',
  'cyborg:operator:incident:get_all',
  'cyborg:operator:quota:get_all',
] satisfies PolicyRule[];

const hourMs = 3_600_000;

/** A server that only the accelerator API knows. */
export const failedInstance = '77aa0000-0000-4000-8000-000000000001';

export interface Cloud {
  readonly layout: Layout;
  /** The console's address. */
  readonly url: string;
  readonly keystone: string;
  readonly deps: ConsumerDeps;
  readonly api: Client;
  readonly operator: Client;
  readonly nova: Client;
  readonly placement: Client;
  kill(part: 'api' | 'openstack' | 'consumers'): Promise<void>;
  start(part: 'api' | 'openstack'): Promise<void>;
  stop(): Promise<void>;
}

/** With the host of the demo. */
export async function startCloud(directory: string): Promise<Cloud> {
  const cloud = await openCloud(directory, () => [demoAgent(join(directory, 'sysfs'))]);
  await announceHost(cloud.layout, demoHostname);
  return cloud;
}

/** @param prepare runs before the engines start */
export async function openCloud(
  directory: string,
  agents: () => readonly AgentOptions[],
  prepare: (layout: Layout) => void = () => undefined,
): Promise<Cloud> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  // A role that the deployment names sees the cloud, and may not change it.
  process.env.CYBORG_POLICY = JSON.stringify(
    Object.fromEntries(operatorLists.map((rule) => [rule, ['manager', 'admin']])),
  );
  const layout = await chooseLayout({ stage: 'browser', directory, anyPorts: true });
  prepare(layout);
  const system = await startSystem({ layout, agents: agents(), restart: false });
  await bundleConsole(consoleDirectory(layout));
  return cloudOf(layout, system);
}

function cloudOf(layout: Layout, system: System): Cloud {
  return {
    layout,
    url: consoleUrl(layout),
    keystone: `${urlOf(layout, 'keystone')}/v3`,
    deps: { ...createConsumerDeps('browser'), log: silentLog, metrics: noMetrics },
    api: client(`${urlOf(layout, 'api')}/accelerator/v2`),
    operator: client(`${urlOf(layout, 'api')}/operator/v1`),
    nova: client(`${urlOf(layout, 'nova')}/v2.1`),
    placement: client(urlOf(layout, 'placement')),
    kill: (part) => system.kill(part),
    start: (part) => system.start(part),
    stop: () => system.stop(),
  };
}

/** Hosts, servers and incidents, each of which some scenario looks at. */
export async function furnish(cloud: Cloud): Promise<void> {
  const { deps, layout } = cloud;
  for (const hostname of ['cmp2', 'cmp3', 'cmp4', 'cmp5']) await announceHost(layout, hostname);
  // An agent that has been silent for an hour.
  await applySettled(deps, 'cmp2', aReport([board(2)]), Date.now() - hourMs);
  const notOffered = [{ address: '0000:0f:00.0', driver: 'pci', reason: 'is in use by nvme' }];
  const boards = [board(4), hot(), gpu('Gpu')];
  await applySettled(deps, 'cmp3', aReport(boards, { not_offered: notOffered }), Date.now());
  await applySettled(deps, 'cmp4', aReport([board(2), gpu('Gpu'), card]), Date.now());
  const baseline = { model: '8086:0b30', component: 'bmc', version: '2.0' };
  const at = new Date().toISOString();
  await deps.store.baselines.putBaseline({ ...baseline, by: 'an-operator', at });
  await applySettled(deps, 'cmp5', aReport([board(8)]), Date.now());
  await conflictOn(cloud, 'cmp5');
  await makeAggregates(cloud);
  await makeProfiles(cloud);
  await failABind(cloud, 'cmp3');
  await startServers(cloud, 2);
}

/** Another trait than the demo host's devices have: servers with it go to these hosts. */
const board = (handles: number) =>
  aDevice({
    model: 'Fake board',
    offers: {
      resource_class: 'FPGA',
      traits: ['CUSTOM_FAKE_BOARD'],
      attach_handles: Array.from({ length: handles }, (_, index) => aHandle(index + 1)),
    },
  });

const gpu = (suffix: string) =>
  aGpu([{ vgpu_mark: '1' }], { model: 'Fake GPU', provider_suffix: suffix });

const card = aDevice({
  address: '0000:3b:00.0',
  vendor: '0x8086',
  product: '0x0b30',
  provider_suffix: 'Card',
  components: [
    { name: 'bmc', version: '1.0' },
    { name: 'shell', version: '7' },
  ],
});

export const hot = () =>
  aDevice({
    address: '0000:0d:00.0',
    provider_suffix: 'Hot',
    health: { state: 'unhealthy', reason: 'is hot', since: new Date().toISOString() },
  });

async function conflictOn({ deps }: Cloud, hostname: string): Promise<void> {
  const now = new Date().toISOString();
  await deps.store.inventory.takeLease(hostname, 'browser', now, now);
  const { host } = await deps.store.inventory.host(hostname);
  const boots = [
    { bootId: '11111111-1111-4111-8111-111111111111', sequence: 1, lastAt: now },
    { bootId: '22222222-2222-4222-8222-222222222222', sequence: 1, lastAt: now },
  ];
  await deps.store.inventory.putConflict(host, { since: now, boots }, 'browser');
  await applySettled(deps, hostname, aReport([], { sequence: 9 }), Date.now());
}

/** Two racks, each a zone of its own, and a host in none. */
async function makeAggregates({ nova }: Cloud): Promise<void> {
  const racks = [
    [demoHostname, 'cmp2'],
    ['cmp3', 'cmp4'],
  ];
  for (const [index, hosts] of racks.entries()) {
    const number = index + 1;
    const aggregate = { name: `rack${number}`, availability_zone: `az${number}` };
    await nova.post('/os-aggregates', 'admin-token', { aggregate });
    for (const host of hosts) {
      const path = `/os-aggregates/${number}/action`;
      await nova.post(path, 'admin-token', { add_host: { host } });
    }
  }
}

async function makeProfiles({ api }: Cloud): Promise<void> {
  const profiles = [
    { name: 'fpga', groups: [{ 'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required' }] },
    { name: 'vgpu', groups: [{ 'resources:VGPU': '1' }] },
  ];
  for (const profile of profiles) await api.post('/device_profiles', 'admin-token', [profile]);
}

/** The bind fails, and its device is not cleaned in time: an incident of each. */
async function failABind({ api, deps }: Cloud, hostname: string): Promise<void> {
  const created = await api.post<{ arqs: { uuid: string }[] }>(
    '/accelerator_requests',
    'demo-token',
    { device_profile_name: 'vgpu' },
  );
  const target = {
    hostname,
    device_rp_uuid: providerUuid(`${hostname}_Gpu`),
    instance_uuid: failedInstance,
  };
  const patch = bindPatch(target);
  await api.patch('/accelerator_requests', 'demo-token', { [created.arqs[0]?.uuid ?? '']: patch });
  const binding = await deps.store.arqs.binding(failedInstance);
  if (!binding) throw new Error('The server has no binding.');
  await failBind(deps, binding, { cause: 'host', reason: 'The GPU is on fire.' });
  const stored = await deps.store.inventory.provider(target.device_rp_uuid);
  const release = stored?.handles[0]?.release;
  const work = release && (await deps.store.releases.awaited(release));
  if (!work) throw new Error('The failed bind has no release.');
  await quarantine(deps, work, 'The host did not answer.');
}

/** On the host of the demo, through the fake Nova. */
async function startServers({ nova, operator, placement }: Cloud, count: number): Promise<void> {
  const flavor = { id: '1', name: 'accelerated', vcpus: 1, ram: 64, disk: 1 };
  await nova.post('/flavors', 'admin-token', { flavor });
  const specs = { extra_specs: { 'accel:device_profile': 'fpga' } };
  await nova.post('/flavors/1/os-extra_specs', 'admin-token', specs);
  await waitFor(
    `the devices of ${demoHostname}`,
    () => operator.get<{ devices: unknown[] }>(`/hosts/${demoHostname}`, 'admin-token'),
    ({ devices }) => devices.length >= 5,
  );
  // Placement refuses a query for a trait that nothing has created yet.
  await waitFor(
    'Placement to know the trait of these devices',
    () => placement.get<{ traits: string[] }>('/traits', 'admin-token'),
    ({ traits }) => traits.includes('CUSTOM_FAKE_DEVICE'),
  );
  const query = '/allocation_candidates?resources=FPGA:1&required=CUSTOM_FAKE_DEVICE';
  await waitFor(
    'Placement to have them',
    () => placement.get<{ allocation_requests: unknown[] }>(query, 'admin-token'),
    (found) => found.allocation_requests.length > 0,
  );
  for (let at = 1; at <= count; at++) {
    const server = { name: `vm${at}`, flavorRef: '1' };
    await nova.post('/servers', 'demo-token', { server });
  }
  await waitFor(
    'the servers to have their accelerators',
    () => operator.get<{ assignments: unknown[] }>('/assignments', 'admin-token'),
    ({ assignments }) => assignments.length >= count,
  );
}
