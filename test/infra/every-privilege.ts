// A workload in which every function does nearly all that it can do: hosts that report, reboot and
// lose devices, instances with and without host work, deadlines that pass.

import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { expect } from 'vitest';
import type { JobEvent } from '#core/contracts/jobs/job-document.ts';
import { jobId } from '#core/contracts/jobs/job-ids.ts';
import type { QueueName } from '#core/contracts/queues/queues.ts';
import { thingName } from '#core/contracts/topics.ts';
import { toHandlePlace } from '#core/domain/device/handle-claim.ts';
import type { HostWorkKind } from '#core/domain/host-work/host-work.ts';
import {
  type ArqUuid,
  type InstanceUuid,
  type ProviderUuid,
  providerUuid,
} from '#core/domain/ids.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { idOf } from '#local/openstack/keystone/catalog.ts';
import { aBinding, anArq, aTarget } from '#test/support/builders.ts';
import { aDevice, aGpu, aReport, hasSettled } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import type { World } from '#test/support/world.ts';

let world: World;
/** The calls of functions to AWS so far; see access.test.ts. */
let asked: ReadonlySet<string>;

export async function runWorkload(here: World, noted: ReadonlySet<string>): Promise<void> {
  world = here;
  asked = noted;
  await inventoryAndProfiles();
  await novasInstance();
  await hostsInstances();
  await hostsEnd();
}

const host = 'cmp1';
const instances = ['1', '2', '3'].map(
  (n) => `aaaaaaaa-0000-4000-8000-00000000000${n}` as InstanceUuid,
);
const [forNova, forHost, forgotten] = instances as [InstanceUuid, InstanceUuid, InstanceUuid];

/** A report of a host, or an event of AWS about it, as the IoT rule puts it into the queue. */
async function publish(queue: QueueName, payload: object) {
  const envelope = {
    thing: thingName('test', host),
    topic: 'any',
    received_at: Date.now(),
    payload: Buffer.from(JSON.stringify(payload)).toString('base64'),
  };
  const { queueUrls } = world.deps.settings;
  await new SQSClient().send(
    new SendMessageCommand({ QueueUrl: queueUrls[queue], MessageBody: JSON.stringify(envelope) }),
  );
}

async function endJob(
  kind: HostWorkKind,
  uuid: string,
  operation: JobEvent['operation'],
  statusDetails: Readonly<Record<string, string>> = {},
) {
  await publish('job-events', {
    eventType: 'JOB_EXECUTION',
    operation,
    jobId: jobId('test', kind, uuid),
    thingArn: `arn:aws:iot:us-east-1:000000000000:thing/${host}`,
    timestamp: 1,
    statusDetails,
  } satisfies JobEvent);
}

async function listed(collection: string): Promise<{ uuid: string; rp_uuid: string }[]> {
  const { text } = await world.ask('GET', `/v2/${collection}`);
  return JSON.parse(text)[collection === 'accelerator_requests' ? 'arqs' : collection];
}

/** Lists of each resource in each order, from a marker on, and each row by itself. */
async function browse(collection: string) {
  const uuid = (await listed(collection))[0]?.uuid;
  for (const query of ['sort_key=uuid', `limit=1&marker=${uuid}`]) {
    await world.ask('GET', `/v2/${collection}?${query}`);
  }
  expect(await world.ask('GET', `/v2/${collection}/${uuid}`)).toMatchObject({ status: 200 });
}

async function bind(uuids: readonly string[], instance: string, provider: string) {
  const bound = await world.bindArqs(uuids, { host, provider, instance });
  expect([bound.status, bound.text]).toEqual([202, '']);
  await world.asNova('GET', `/v2/accelerator_requests?instance=${instance}`);
}

const end = (instance: string) =>
  world.asNova('DELETE', `/v2/accelerator_requests?instance=${instance}`);

/** The host's part of a bind, after its job was made. */
async function endBind(instance: string, operation: JobEvent['operation']) {
  const { arqs } = world.deps.store;
  const bindId = (await arqs.binding(instance))?.bindId ?? '';
  await eventually(() => arqs.jobNote(bindId)).toMatchObject({ instances: [instance] });
  await endJob('bind', bindId, operation);
  const state = async () => (await arqs.binding(instance))?.state;
  await eventually(state).toBe(operation === 'succeeded' ? 'Bound' : 'BindFailed');
}

const gpu = aGpu(
  ['1', '2'].map((mark) => ({ asked_type: 'nvidia-223', vgpu_mark: mark })),
  { identity: 'serial-1', components: [{ name: 'bmc', version: '1.0' }] },
);

async function inventoryAndProfiles() {
  await world.startComputeNode(host);
  await publish('host-presence', { clientId: host, timestamp: 1, eventType: 'connected' });
  await publish('inventory-reports', aReport([aDevice({ handles: 4 }), gpu]));
  await eventually(() => listed('devices')).toHaveLength(2);
  await browse('devices');
  await browse('deployables');
  await operatorsCalls();
  await describeDeployable();
  await programComponent();
  const asking = (resource: string, count: string) => [{ [`resources:${resource}`]: count }];
  const profiles = {
    two: asking('FPGA', '2'),
    one: asking('FPGA', '1'),
    vgpu: asking('VGPU', '1'),
  };
  for (const [name, groups] of Object.entries({ ...profiles, a: profiles.one, b: profiles.one })) {
    await world.createProfile(name, ...groups);
  }
  await browse('device_profiles');
  await world.ask('GET', '/v2/device_profiles?name=one,two');
  // Refused changes of users leave records.
  const none = crypto.randomUUID();
  await world.ask('DELETE', `/v2/accelerator_requests/${none}`);
  await world.ask('POST', `/v2/devices/${none}/enable`);
  await world.ask('PATCH', `/v2/deployables/${none}/program`, { body: {} });
  await world.ask('DELETE', '/v2/device_profiles/a');
  await world.ask('DELETE', '/v2/device_profiles?name=b');
  await world.ask('GET', '/nothing/here');
}

/** Nova is given the first of two alternatives, and binds it. */
async function bootWithAlternative(): Promise<void> {
  const groups = [{ 'resources:FPGA': '1' }];
  await world.createProfile('either', ...groups);
  const body = { name: 'either', groups, alternatives: [[{ 'resources:VGPU': '1' }]] };
  await world.ask('PUT', '/operator/v1/device_profiles/either', { body });
  await world.asNova('GET', '/v2/device_profiles?name=either');
  await bind(await world.createArqs('either'), forNova, providerUuid('cmp1_FakeDevice'));
  await end(forNova);
}

/** Changes of a deployable by an operator, undone again. */
async function describeDeployable() {
  const deployable_id = (await listed('deployables'))[0]?.uuid;
  const body = { deployable_id, key: 'rack', value: '7' };
  const { json } = await world.ask('POST', '/v2/attributes', { body });
  await world.ask('GET', '/v2/attributes');
  await world.ask('DELETE', `/v2/attributes/${json.uuid}`);
}

/** The host's part is the end of the job. */
async function programComponent() {
  const id = crypto.randomUUID();
  const properties = { component: 'bmc', models: 'abcd:abcd', version: '2.0' };
  const named = Object.entries(properties).map(([name, value]) => [`accel:${name}`, value]);
  await glance('POST', '/v2/images', JSON.stringify({ id, ...Object.fromEntries(named) }));
  await glance('PUT', `/v2/images/${id}/file`, 'firmware');
  const programmed = async () => {
    const { devices } = await world.deps.store.inventory.host(host);
    return devices.find(({ components }) => components !== undefined);
  };
  const uuid = (await programmed())?.uuid;
  const body = [{ op: 'add', path: '/firmware/bmc', value: id }];
  const asked = await world.ask('PATCH', `/v2/devices/${uuid}`, { body });
  expect([asked.status, asked.text]).toEqual([204, '']);
  const [note] = (await programmed())?.programs ?? [];
  const evidence = JSON.stringify({ bmc: { version: '2.0' } });
  await endJob('program', note?.id ?? '', 'succeeded', { evidence });
  await eventually(async () => (await programmed())?.status).toBe('enabled');
}

async function glance(method: string, path: string, body: string) {
  const headers = { 'X-Auth-Token': 'admin-token' };
  const answer = await fetch(`${world.urls.glance}${path}`, { method, headers, body });
  if (!answer.ok) throw new Error(await answer.text());
}

/** An instance without host work: plain PCI. */
async function novasInstance() {
  const [unbound] = await world.createArqs('one');
  const uuids = await world.createArqs('two');
  await browse('accelerator_requests');
  await world.asNova('GET', '/v2/accelerator_requests');
  await bind(uuids, forNova, providerUuid('cmp1_FakeDevice'));
  await eventually(() => asked.has('nova-events BatchGetItem table/test-arqs')).toBe(true);
  const unbind = ['hostname', 'device_rp_uuid', 'instance_uuid'].map((name) => {
    return { op: 'remove', path: `/${name}` };
  });
  await world.asNova('PATCH', '/v2/accelerator_requests', { [uuids[0] ?? '']: unbind });
  await end(forNova);
  await world.asNova('DELETE', `/v2/accelerator_requests?arqs=${unbound},${uuids[0]}`);
  await bootWithAlternative();
}

/** Instances with host work: one succeeds, one fails, one ends before, one gets no answer. */
async function hostsInstances() {
  const provider = providerUuid('cmp1_Gpu');
  for (const operation of ['succeeded', 'failed', undefined] as const) {
    await bind(await world.createArqs('vgpu'), forHost, provider);
    if (operation) await endBind(forHost, operation);
    else await eventually(() => isJobNoted(forHost)).toBe(true);
    await end(forHost);
    const releases = async () => {
      const stored = await world.deps.store.inventory.provider(provider);
      return stored?.handles.flatMap(({ release }) => release ?? []) ?? [];
    };
    await eventually(async () => (await releases()).length).toBeGreaterThan(0);
    const [release] = await releases();
    if (!operation) {
      await eventually(() => asked.has('host-jobs DeleteItem table/test-arqs')).toBe(true);
    }
    await endJob('release', release ?? '', 'succeeded');
    await eventually(async () => (await releases()).length).toBe(0);
  }
  await forget(provider);
}

/** Whether the consumer is about to create the job of the instance's bind. */
async function isJobNoted(instance: InstanceUuid): Promise<boolean> {
  const { arqs } = world.deps.store;
  const bindId = (await arqs.binding(instance))?.bindId;
  return bindId !== undefined && (await arqs.jobNote(bindId)) !== undefined;
}

/** Deadlines that passed long ago. */
async function forget(provider: ProviderUuid) {
  const { arqs, bindings, inventory } = world.deps.store;
  const [uuid] = await world.createArqs('vgpu');
  const arq = (await arqs.byUuids([uuid as ArqUuid])).get(uuid as ArqUuid);
  const stored = await inventory.provider(provider);
  const [handle] = stored?.handles ?? [];
  if (!arq || !stored || !handle) throw new Error('The ARQ or its handle is missing.');
  const past = '2020-01-01T00:00:00.000Z';
  const target = {
    ...aTarget(),
    arqUuid: arq.uuid,
    instanceUuid: forgotten,
    providerUuid: provider,
  };
  const binding = aBinding({
    instanceUuid: forgotten,
    state: 'BindStarted',
    arqUuids: [arq.uuid],
    startedAt: past,
  });
  const place = toHandlePlace(stored.deployable);
  const change = { at: past, by: 'user:1' };
  await bindings.claim(binding, [{ arq, target, handle, place }], change, past);
  await arqs.create([anArq()], past);
  await limit(arq.projectId);
  await world.deps.store.quotas.recountSoon(arq.projectId, past);
  await world.consumers?.sweep();
}

/** Quotas of a project that has ARQs. */
async function limit(project: string) {
  const quotas = '/operator/v1/quotas';
  const body = { limits: { FPGA: 100, VGPU: 100 } };
  const unused = idOf('project', 'admin');
  for (const each of [project, project, unused]) {
    expect(await world.ask('PUT', `${quotas}/${each}`, { body })).toMatchObject({ status: 200 });
  }
  expect(await world.ask('DELETE', `${quotas}/${unused}`)).toMatchObject({ status: 204 });
  expect(await world.ask('GET', quotas)).toMatchObject({ status: 200 });
  expect(await world.createArqs('vgpu')).toHaveLength(1);
}

/** The host reboots under an instance, loses some of its devices, and then all. */
async function hostsEnd() {
  await bind(await world.createArqs('vgpu'), forHost, providerUuid('cmp1_Gpu'));
  await endBind(forHost, 'succeeded');
  const booted = { boot_id: '22222222-2222-4222-8222-222222222222' };
  const devices = [aDevice({ handles: 1 }), gpu];
  await publish('inventory-reports', aReport(devices, booted));
  const { inventory } = world.deps.store;
  await eventually(async () => (await inventory.hostAlone('cmp1')).bootId).toBe(booted.boot_id);
  await hasSettled(world.deps, 'cmp1');
  await publish('inventory-reports', aReport(devices, { ...booted, sequence: 2 }));
  const state = async () => (await world.deps.store.arqs.binding(forHost))?.state;
  await eventually(state).toBe('provisioning');
  await end(forHost);
  const { placement } = world.deps.clients;
  await eventually(() => placement.getProvider(providerUuid('cmp1_FakeDevice'))).toBeDefined();
  await publish('inventory-reports', aReport([gpu], { ...booted, sequence: 3 }));
  await eventually(() => listed('devices')).toHaveLength(1);
}

/** The operator's API; the host is online. */
async function operatorsCalls() {
  const get = (path: string) => world.ask('GET', `/operator/v1${path}`);
  expect(await get('/hosts?limit=1')).toMatchObject({ status: 200 });
  expect(await get(`/hosts?marker=${host}`)).toMatchObject({ status: 200 });
  expect(await get(`/hosts/${host}`)).toMatchObject({ status: 200 });
  const post = (path: string, body?: unknown) =>
    world.ask('POST', `/operator/v1/hosts/${host}${path}`, body ? { body } : {});
  expect(await post('/rediscover')).toMatchObject({ status: 202 });
  expect(await post('/drain', { reason: 'a fan' })).toMatchObject({ status: 200 });
  expect(await post('/resume')).toMatchObject({ status: 200 });
  expect(await post('/settle', { boot_id: crypto.randomUUID() })).toMatchObject({ status: 409 });
  for (const path of ['/metrics', '/report'])
    expect(await get(path)).toMatchObject({ status: 200 });
  expect(await get('/assignments')).toMatchObject({ status: 200 });
  expect(await get('/assignments?project=any')).toMatchObject({ status: 200 });
  expect(await get(`/assignments?arq=${crypto.randomUUID()}`)).toMatchObject({ status: 200 });
  expect(await get(`/assignments?instance=${crypto.randomUUID()}`)).toMatchObject({ status: 200 });
  expect(await get('/capacity?profile=nothing')).toMatchObject({ status: 404 });
  expect(await get('/incidents')).toMatchObject({ status: 200 });
  expect(await get('/history')).toMatchObject({ status: 200 });
  expect(await get('/usage?project=any')).toMatchObject({ status: 200 });
  const profiles = '/device_profiles';
  expect(await get(profiles)).toMatchObject({ status: 200 });
  const body = { name: 'renamed', groups: [{ 'resources:VGPU': '1' }] };
  await world.createProfile('named', ...body.groups);
  const renamed = await world.ask('PUT', `/operator/v1${profiles}/named`, { body });
  expect(renamed).toMatchObject({ status: 200 });
  // A host that is away, and that Placement does not know.
  await applyReport(world.deps, 'gone', aReport([aDevice()]), Date.now() - 3_600_000);
  const compared = await world.ask('POST', '/operator/v1/reconcile', {
    body: { host: 'gone', dry_run: false },
  });
  expect(compared).toMatchObject({ status: 202 });
  expect(await world.ask('DELETE', '/operator/v1/hosts/gone')).toMatchObject({ status: 204 });
}
