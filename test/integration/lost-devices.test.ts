// A server that runs without the device that is bound to it, or with one that is not.

import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import type { Device } from '#core/domain/device/device.ts';
import { measureHost } from '#core/domain/fleet/measure-host.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { toEvents } from '#core/operations/outbox/events-of-change.ts';
import { nextInstance } from '#test/support/builders.ts';
import { aDevice, aHandle } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const slot = '0000:3b:00.0';
const [unit, other] = ['0000:0c:00.1', '0000:0c:00.2'];
const since = '2026-11-01T00:00:00.000Z';
const world = perFile(() => startWorld({ consumers: true }));
let round = 0;
let minutes = 0;
let host = '';

beforeAll(() => world.createProfile('disk', { 'resources:CUSTOM_NVME': '1' }));

beforeEach(() => {
  round += 1;
  minutes = 0;
  host = `cmp${round}`;
});

type Units = NonNullable<ReportedDevice['seen_attachments']>['units'];

/** Reports, five minutes later. */
async function report(units: Units = [], functions: readonly number[] = [1]) {
  minutes += 5;
  const seen = { at: new Date(Date.now() + minutes * 60_000).toISOString(), units };
  const device = aDevice({
    address: slot,
    provider_suffix: undefined,
    type: 'SSD',
    offers: {
      resource_class: 'CUSTOM_NVME',
      traits: [],
      attach_handles: functions.map((each) => aHandle(each, 'PCI')),
    },
    ...(units.length > 0 && { seen_attachments: seen }),
  });
  const deps: ConsumerDeps = { ...world.deps, clock: () => Date.now() + minutes * 60_000 };
  await world.report(host, [device], {}, deps);
}

async function bind() {
  const instance = nextInstance();
  const target = { host, provider: providerUuid(`${host}_${slot}`), instance };
  expect((await world.bindArqs(await world.createArqs('disk'), target)).status).toBe(202);
  return instance;
}

const ask = async (query = '') =>
  (
    await world.ask('GET', `/operator/v1/incidents?kind=device-not-attached${query}`, {
      token: 'admin-token',
    })
  ).json.incidents.filter(({ hostname }) => hostname === host);

it('is an incident with the command that ends it, until the server has the device again', async () => {
  await report();
  const instance = await bind();
  await report([{ unit, instance_uuid: instance, is_attached: false, since }]);
  expect(await ask()).toMatchObject([
    {
      hostname: host,
      instance_uuid: instance,
      since: '2026-11-01T00:00:00+00:00',
      reason: `The device at ${slot} is bound to server ${instance}, which runs without it (${unit}).`,
      next_step: expect.stringContaining(`openstack server reboot --hard ${instance}`),
      runbook: 'docs/operations.md#a-server-without-its-device',
      action: 'rediscover',
    },
  ]);
  const measured = measureHost(await world.deps.store.inventory.host(host), [], {
    profiles: [],
    baselines: [],
    attachTypes: undefined,
    nowMs: Date.now(),
  });
  expect(measured).toContainEqual(
    expect.objectContaining({ metric: 'cyborg_incidents', labels: ['device-not-attached'] }),
  );
  await report([{ unit, instance_uuid: instance, is_attached: true, since }]);
  expect(await ask()).toEqual([]);
  await eventually(() => ask('&state=ended')).toMatchObject([
    { instance_uuid: instance, ended_by: 'agent', reason: expect.stringContaining('without it') },
  ]);
});

it('is an incident while the device of a server is gone from its host', async () => {
  await report();
  const instance = await bind();
  await world.report(host, []);
  const [incident, ...others] = await ask();
  expect(others).toEqual([]);
  expect(incident).toMatchObject({
    hostname: host,
    instance_uuid: instance,
    project_id: expect.any(String),
    since: expect.any(String),
    reason: `The device at ${slot} is gone from its host, and server ${instance} has lost it (${unit}).`,
    next_step: expect.stringContaining(`openstack server reboot --hard ${instance}`),
  });
  const [device] = (await world.deps.store.inventory.host(host)).devices;
  const metadata = { id: 'change-1', at: 0, stage: 'test' };
  const events = (device?.attachmentFaults ?? []).flatMap((fault) =>
    toEvents({ kind: 'device-not-attached', device: device as Device, fault }, metadata),
  );
  expect(events).toMatchObject([
    { detail: { how: 'gone', instance_uuid: instance, project_id: incident?.project_id } },
  ]);
  const query = { token: 'admin-token' };
  const path = `/operator/v1/assignments?instance=${instance}`;
  expect((await world.ask('GET', path, query)).json.assignments).toMatchObject([
    { device_health: 'is gone: its host no longer reports it' },
  ]);
  const stored = await world.deps.store.inventory.host(host);
  const providers = await world.deps.store.inventory.providers(
    stored.devices.flatMap((each) => each.providers),
  );
  const context = { profiles: [], baselines: [], attachTypes: undefined, nowMs: Date.now() };
  expect(measureHost(stored, providers, context)).toContainEqual(
    expect.objectContaining({ metric: 'cyborg_incidents', labels: ['device-not-attached'] }),
  );
  await report();
  expect(await ask()).toEqual([]);
  await eventually(() => ask('&state=ended')).toMatchObject([
    { instance_uuid: instance, ended_by: 'agent', reason: expect.stringContaining('is gone') },
  ]);
});

it('is an incident while a function of a server is gone from its card', async () => {
  await world.startComputeNode(host);
  await report([], [1, 2]);
  const instance = await bind();
  const path = `/operator/v1/assignments?instance=${instance}`;
  const assignment = async () =>
    (await world.ask('GET', path, { token: 'admin-token' })).json.assignments[0];
  const lost = Number((await assignment())?.attach_info?.function);
  await report([], [3 - lost]);
  const [incident, ...others] = await ask();
  expect(others).toEqual([]);
  expect(incident).toMatchObject({
    instance_uuid: instance,
    reason: `The device at ${slot} has no function 0000:0c:00.${lost} any more, and server ${instance} has lost it.`,
  });
  expect(await assignment()).toMatchObject({
    device_health: 'is gone: its host no longer reports it',
  });
  await report([], [3 - lost, 5]);
  expect(await ask()).toMatchObject([{ since: incident?.since }]);
  // The server has the lost unit allocated, and both others are free.
  const inventory = async () => {
    const path = `${world.urls.placement}/resource_providers/${providerUuid(`${host}_${slot}`)}`;
    const headers = { 'X-Auth-Token': 'admin-token' };
    return (await fetch(`${path}/inventories`, { headers })).json();
  };
  await eventually(inventory).toMatchObject({
    inventories: { CUSTOM_NVME: { total: 3, reserved: 0 } },
  });
  // The host reports nothing after the server has given the function back.
  await world.ask('DELETE', `/v2/accelerator_requests?instance=${instance}`);
  expect(await ask()).toEqual([]);
  await eventually(inventory).toMatchObject({ inventories: { CUSTOM_NVME: { total: 2 } } });
});

it('is no incident of a device that is gone and that no server has', async () => {
  await report();
  const instance = await bind();
  await world.report(host, []);
  expect(await ask()).toHaveLength(1);
  const { status } = await world.ask('DELETE', `/v2/accelerator_requests?instance=${instance}`);
  expect(status).toBe(204);
  expect(await ask()).toEqual([]);
});

it('names the server that has a device without a bind, and the one that it is bound to', async () => {
  await report();
  const intruder = nextInstance();
  const seen: Units = [{ unit, instance_uuid: intruder, is_attached: true, since }];
  await report(seen);
  expect(await ask()).toMatchObject([
    {
      instance_uuid: intruder,
      reason: expect.stringContaining('and not bound to it'),
      next_step: expect.stringContaining(`virsh destroy ${intruder}`),
    },
  ]);
  const instance = await bind();
  const lacks = { unit, instance_uuid: instance, is_attached: false, since };
  await report([lacks, ...seen]);
  expect(await ask()).toMatchObject([
    {
      instance_uuid: instance,
      next_step: expect.stringContaining(`virsh destroy ${intruder}`),
      reason: expect.stringContaining(`attached to server ${intruder}`),
    },
  ]);
});

it('is no incident of a host that names units and servers that are not of its device', async () => {
  await report();
  await bind();
  await report([
    { unit, instance_uuid: nextInstance(), is_attached: false, since },
    { unit: other, instance_uuid: nextInstance(), is_attached: true, since },
  ]);
  expect(await ask()).toEqual([]);
});

it('is none while the bind or the release is younger than the report may be', async () => {
  await report();
  const instance = await bind();
  minutes = -5;
  await report([{ unit, instance_uuid: nextInstance(), is_attached: true, since }]);
  expect(await ask()).toEqual([]);
  const [device] = (await world.deps.store.inventory.host(host)).devices;
  expect([device?.digest, device?.attachmentFaults]).toEqual(['', undefined]);
  await world.deleteArqsOf(instance);
});
