// The steps of the demo on any system of one stage, with the fakes of OpenStack and the compute
// node of demo-host.ts: from the host's report to the release of the last handle.

import assert from 'node:assert/strict';
import { createStore } from '#core/deps.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { traitPart } from '#core/domain/placement/traits.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { type Client, waitFor } from './demo-client.ts';
import { demoHostname } from './demo-host.ts';
import { inventoryOf } from './demo-inventory.ts';
import { aFunction, aGbs, fakeInterface } from './gbs.ts';

interface Demo {
  readonly stage: string;
  readonly api: Client;
  readonly nova: Client;
  readonly placement: Client;
  readonly glance: Client;
  /** Called after each step, with what has happened. */
  done(sentence: string): void;
}

/** The provider of the fake GPU for the smaller of its two mdev types. */
const vgpuProvider = '0000:0e:00.0_fake-1';

interface Arq {
  readonly uuid: string;
  readonly state: string;
  readonly attach_handle_uuid: string;
  readonly attach_handle_info: Readonly<Record<string, string>>;
}

/** @throws Error if a step fails */
export async function playDemo(demo: Demo): Promise<void> {
  const { api, nova, placement, done } = demo;
  const { devices } = await waitFor(
    'the five devices of the host in the list of the API',
    () => api.get<{ devices: { type: string }[] }>('/devices', 'manager-token'),
    ({ devices }) => devices.length === 5,
  );
  done(`the devices of the agent are there: ${devices.map(({ type }) => type).join(', ')}`);

  const inventory = await waitFor(
    'Placement to offer 16 FPGA',
    () => inventoryOf(placement, 'FakeDevice', 'FPGA'),
    (fpgas) => fpgas?.total === 16,
  );
  await waitFor(
    'Placement to offer 4 VGPU',
    () => inventoryOf(placement, vgpuProvider, 'VGPU'),
    (vgpus) => vgpus?.total === 4,
  );
  done(`Placement offers ${inventory?.total} FPGA below ${demoHostname}`);

  const groups = [{ 'resources:FPGA': '2', 'trait:CUSTOM_FAKE_DEVICE': 'required' }];
  const offer = { flavor: 'f1', profile: 'fpga-2', groups };
  await offerFlavor(api, nova, offer);
  done('the operator has made a device profile and put it into a flavor');

  const vm = await bootServer(nova, offer);
  done('Nova has booted the server: create, bind, read back');

  const arqs = await resolvedArqs(api, vm);
  assert.deepEqual(
    arqs.map(({ state }) => state),
    ['Bound', 'Bound'],
  );
  assert.equal(new Set(arqs.map((arq) => arq.attach_handle_uuid)).size, 2);
  done(`both ARQs are resolved, with handles ${arqs.map(addressOf).join(' and ')}`);

  await deleteServer(api, nova, vm);
  await waitFor(
    'the allocation of the deleted server to be gone',
    () => inventoryOf(placement, 'FakeDevice', 'FPGA'),
    (fpgas) => fpgas?.used === 0,
  );
  done('the server is deleted: no ARQ is left, and no allocation');

  await exhaust(demo, arqs.length);
  await bootWithVgpu(demo);
  await bootWithFpga(demo);
}

/** Binds all handles at once, because the API does not show whether a handle is free. */
async function exhaust({ api, done }: Demo, released: number): Promise<void> {
  const { deployables } = await api.get<{ deployables: { name: string; rp_uuid: string }[] }>(
    '/deployables',
    'manager-token',
  );
  const provider = deployables.find(({ name }) => name === `${demoHostname}_FakeDevice`)?.rp_uuid;
  const instance = '00000000-0000-4000-8000-000000000001';
  const uuids: string[] = [];
  for (let arqs = 0; arqs < 16; arqs += 2) {
    const made = await api.post<{ arqs: Arq[] }>('/accelerator_requests', 'demo-token', {
      device_profile_name: 'fpga-2',
    });
    uuids.push(...made.arqs.map(({ uuid }) => uuid));
  }
  const patch = [
    { op: 'add', path: '/hostname', value: demoHostname },
    { op: 'add', path: '/device_rp_uuid', value: provider },
    { op: 'add', path: '/instance_uuid', value: instance },
  ];
  const body = Object.fromEntries(uuids.map((uuid) => [uuid, patch]));
  await api.patch('/accelerator_requests', 'demo-token', body);
  await api.delete(`/accelerator_requests?instance=${instance}`, 'demo-token');
  done(`all 16 handles can be claimed at once: the ${released} of the server are free again`);
}

interface Offer {
  readonly flavor: string;
  readonly profile: string;
  readonly groups: readonly object[];
}

async function offerFlavor(
  api: Client,
  nova: Client,
  { flavor, profile, groups }: Offer,
): Promise<void> {
  await api.post('/device_profiles', 'admin-token', [{ name: profile, groups }]);
  await nova.post('/flavors', 'admin-token', {
    flavor: { id: flavor, name: flavor, vcpus: 1, ram: 64, disk: 1 },
  });
  await nova.post(`/flavors/${flavor}/os-extra_specs`, 'admin-token', {
    extra_specs: { 'accel:device_profile': profile },
  });
}

/** @returns the server's id when it is ACTIVE */
async function bootServer(nova: Client, { flavor, profile }: Offer): Promise<string> {
  const { server } = await nova.post<{ server: { id: string } }>('/servers', 'demo-token', {
    server: { name: `vm-${profile}`, flavorRef: flavor },
  });
  const built = await waitFor(
    `Nova to build server vm-${profile}`,
    () => nova.get<{ server: { status: string } }>(`/servers/${server.id}`, 'demo-token'),
    (each) => each.server.status !== 'BUILD',
  );
  assert.equal(built.server.status, 'ACTIVE');
  return server.id;
}

async function resolvedArqs(api: Client, server: string): Promise<Arq[]> {
  const path = `/accelerator_requests?instance=${server}&bind_state=resolved`;
  return (await api.get<{ arqs: Arq[] }>(path, 'demo-token')).arqs;
}

/** Deletes the server and waits until its ARQs are gone. */
async function deleteServer(api: Client, nova: Client, server: string): Promise<void> {
  await nova.delete(`/servers/${server}`, 'demo-token');
  await waitFor(
    'the ARQs of the deleted server to be gone',
    () => api.get<{ arqs: Arq[] }>('/accelerator_requests', 'demo-token'),
    ({ arqs }) => arqs.length === 0,
  );
}

/** Boots a server for which the host creates an mdev, and deletes it, which removes the mdev. */
async function bootWithVgpu({ api, nova, stage, done }: Demo): Promise<void> {
  const groups = [{ 'resources:VGPU': '1', 'trait:CUSTOM_ABCD_9B01_FAKE_1': 'required' }];
  const offer = { flavor: 'f2', profile: 'vgpu', groups };
  await offerFlavor(api, nova, offer);
  const vm = await bootServer(nova, offer);
  const arqs = await resolvedArqs(api, vm);
  assert.equal(arqs[0]?.state, 'Bound');
  const mdev = arqs[0]?.attach_handle_uuid ?? '';
  done(`a server with a vGPU is up: the host made mdev ${mdev}`);

  const { events } = await nova.get<{ events: { tag: string; status: string }[] }>(
    '/_events',
    'admin-token',
  );
  // Only a bind that takes longer than Nova's list waits has an event: on a very slow machine.
  for (const { tag, status } of events) {
    assert.deepEqual([tag, status], [arqs[0]?.uuid, 'completed']);
  }
  done(`Nova's list of the ARQs waited for the host; events that it needed: ${events.length}`);

  await nova.delete(`/servers/${vm}`, 'demo-token');
  await waitFor(
    'the host to confirm that the mdev is removed',
    () => handleOf(stage, mdev),
    (handle) => handle !== undefined && !handle.release && !handle.claim,
  );
  done('and is gone again: the host has confirmed that the mdev is removed');
}

/** Boots a server for which the host programs its FPGA with an image from Glance. */
async function bootWithFpga(demo: Demo): Promise<void> {
  const { api, nova, placement, glance, done } = demo;
  const image = { name: 'hello.gbs', visibility: 'public', 'accel:function_id': aFunction };
  const { id } = await glance.post<{ id: string }>('/v2/images', 'admin-token', image);
  await glance.put(`/v2/images/${id}/file`, 'admin-token', new Uint8Array(aGbs()));
  const region = `CUSTOM_FPGA_ABCD_REGION_${traitPart(fakeInterface)}`;
  const group = { 'resources:FPGA': '1', [`trait:${region}`]: 'required' };
  const groups = [{ ...group, 'accel:function_id': aFunction }];
  const offer = { flavor: 'f3', profile: 'hello', groups };
  await offerFlavor(api, nova, offer);
  const vm = await bootServer(nova, offer);
  const arqs = await resolvedArqs(api, vm);
  assert.equal(arqs[0]?.state, 'Bound');
  done(`a server with a programmed FPGA is up: the host fetched image ${id} from S3`);

  const provider = providerUuid(`${demoHostname}_0000:0d:00.0_region0`);
  const functionTrait = `CUSTOM_FPGA_ABCD_FUNCTION_${traitPart(aFunction)}`;
  await waitFor(
    'Placement to know the function of the region',
    () =>
      placement.get<{ traits: string[] }>(`/resource_providers/${provider}/traits`, 'admin-token'),
    ({ traits }) => traits.includes(functionTrait),
  );
  done('and Placement knows the function that the region has now');
  await deleteServer(api, nova, vm);
  await programByOperator(demo);
}

async function programByOperator({ api, glance, done }: Demo): Promise<void> {
  const { id } = await glance.post<{ id: string }>('/v2/images', 'admin-token', { name: 'op.gbs' });
  const data = new Uint8Array(aGbs({ bitstream: 'other bits' }));
  await glance.put(`/v2/images/${id}/file`, 'admin-token', data);
  const find = async () => {
    const { deployables } = await api.get<{
      deployables: { uuid: string; name: string; bitstream_id: string | null }[];
    }>('/deployables', 'manager-token');
    return deployables.find(({ name }) => name === `${demoHostname}_0000:0d:00.0_region0`);
  };
  await api.patch(`/deployables/${(await find())?.uuid}/program`, 'admin-token', [
    { path: '/program', op: 'replace', value: [{ image_uuid: id }] },
  ]);
  await waitFor(
    'the region to be programmed with the image of the operator',
    find,
    (region) => region?.bitstream_id === id,
  );
  done('an operator has had it programmed with another image');
}

/** Reads the handle's row, because the API does not show whether a release is confirmed. */
async function handleOf(stage: string, uuid: string): Promise<AttachHandle | undefined> {
  const { store } = createStore(createDocuments(), stage);
  const provider = await store.inventory.provider(providerUuid(`${demoHostname}_${vgpuProvider}`));
  return provider?.handles.find((handle) => handle.uuid === uuid);
}

function addressOf({ attach_handle_info: info }: Arq): string {
  return `${info.domain}:${info.bus}:${info.device}.${info.function}`;
}
