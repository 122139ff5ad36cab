// Devices that are taken from their host, in each state and in each way, and what the service says
// of it: the local system, with an agent that reads the tree from which the device is taken.
//
// @module-tag long

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { noteProgress } from '#local/demo/stillness.ts';
import { chooseLayout, type Layout, urlOf } from '#local/process/layout.ts';
import { type System, startSystem } from '#local/process/system.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { ask, type Cloud, type CloudHost, createCloud, createHost } from './cloud-hosts.ts';

const hostname = 'cmp1';
const gpus = ['0000:3b:00.0', '0000:af:00.0'];
const ids = { vendor: '10de', product: '1eb8', classCode: '030200' };
const vgpuAddress = '0000:0e:00.0';

let directory: string;
let layout: Layout;
let system: System;
let cloud: Cloud;
let host: CloudHost;
/** The GPU that is taken away; a server has the other one, so that the next server gets it. */
let address: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cyborg-lost-'));
  layout = await chooseLayout({ stage: 'lost', directory, anyPorts: true });
  // The image of the simulated firmware is not signed.
  const variables = { CYBORG_REQUIRE_SIGNATURE: '' };
  const given = { layout, agents: [], restart: false, onLine: noteProgress, variables };
  system = await startSystem(given);
  cloud = createCloud(layout);
  host = createHost(hostname, join(directory, 'hosts'));
  await host.enrol(layout);
  host.startAgent();
  await cloud.prepare([host]);
  await untilFree('PGPU', 2);
  const other = await cloud.boot('gpu');
  const [{ device_address: used }] = await assignmentsOf(other);
  address = gpus.find((each) => each !== used) ?? '';
});

afterAll(async () => {
  await host?.agent().killHard();
  await system?.stop();
  if (directory) rmSync(directory, { recursive: true, force: true });
});

async function untilFree(resourceClass: string, free: number): Promise<void> {
  const query = `resources=${resourceClass}:1&limit=100`;
  const url = `${urlOf(layout, 'placement')}/allocation_candidates?${query}`;
  const version = { 'OpenStack-API-Version': 'placement 1.36' };
  const count = async () =>
    (await ask(url, 'GET', undefined, version)).json.allocation_requests.length;
  await eventually(count).toBeGreaterThanOrEqual(free);
}

const api = (path: string, method = 'GET', body?: unknown) =>
  ask(`${urlOf(layout, 'api')}/accelerator${path}`, method, body);

interface Device {
  readonly uuid: string;
  readonly status: string;
  readonly std_board_info: string;
}

async function offered(): Promise<readonly Device[]> {
  return (await api('/v2/devices')).json.devices;
}

const assignmentsOf = async (server: string) =>
  (await api(`/operator/v1/assignments?instance=${server}`)).json.assignments;

/** What the service says of the host, and of the server, in sentences. */
async function said(server?: string): Promise<string[]> {
  const { json } = await api(`/operator/v1/incidents?host=${hostname}`);
  const incidents = json.incidents.map(
    (each: { readonly kind: string; readonly reason: string }) => `${each.kind}: ${each.reason}`,
  );
  if (server === undefined) return incidents;
  const health = (await assignmentsOf(server)).map(
    (each: { readonly device_health: string | null }) => `its device ${each.device_health}`,
  );
  return [...incidents, ...health];
}

const take = {
  'is unplugged': () => host.sysfs.removeFunction(address),
  'does not answer': () =>
    host.sysfs.write(`${host.sysfs.pathOf(address)}/config`, Buffer.alloc(256, 0xff)),
} as const;

function putBack(): void {
  rmSync(join(host.sysfs.root, 'bus/pci/devices', address), { force: true });
  rmSync(join(host.sysfs.root, host.sysfs.pathOf(address)), { recursive: true, force: true });
  host.sysfs.addFunction({ address, ...ids });
}

const lost = (server: string, at: string, unit = at) =>
  `device-not-attached: The device at ${at} is gone from its host, and server ${server} has lost it (${unit}).`;
const gone = 'its device is gone: its host no longer reports it';
const off = () => `not-offered: The device at ${address} fell off the bus.`;

const lostIn = (operation: string) => `Step 1/1: ${operation}`;

type Way = keyof typeof take;

/** Takes the simulated GPU out of its slot while it is in the operation. */
async function unplugIn(operation: string, delayMs: Readonly<Record<string, number>>) {
  await eventually(host.waitsIn).toBe(operation);
  host.slowDown(delayMs, true);
}

/** The addresses of the devices that are offered. */
const addresses = async () =>
  (await offered()).map(({ std_board_info }) => JSON.parse(std_board_info).product_id).sort();

it.each<[Way, () => readonly string[]]>([
  ['is unplugged', () => []],
  ['does not answer', () => [off()]],
])('a device that %s', async (way, reasonsFor) => {
  const reasons = reasonsFor();
  await untilFree('PGPU', 1);
  const server = await cloud.boot('gpu');
  take[way]();
  await eventually(() => said(server)).toEqual([lost(server, address), ...reasons, gone]);
  putBack();
  await eventually(() => said(server)).toEqual(['its device null']);
  take[way]();
  await eventually(() => said(server)).toEqual([lost(server, address), ...reasons, gone]);
  await cloud.remove(server);
  await eventually(() => said()).toEqual(reasons);
  await eventually(addresses).toHaveLength(2);
  putBack();
  await eventually(addresses).toHaveLength(3);
  await eventually(() => said()).toEqual([]);
  take[way]();
  await eventually(addresses).toHaveLength(2);
  await eventually(() => said()).toEqual(reasons);
  putBack();
  await eventually(addresses).toHaveLength(3);
  await eventually(() => said()).toEqual([]);
});

it('a card of vGPUs that is unplugged while a server has one', async () => {
  await untilFree('VGPU', 1);
  const server = await cloud.boot('vgpu');
  host.slowDown({}, true);
  const [{ attach_handle_uuid: mdev }] = await assignmentsOf(server);
  await eventually(() => said(server)).toEqual([lost(server, vgpuAddress, mdev), gone]);
  host.slowDown({ clean: 2000 });
  await eventually(() => said(server)).toEqual(['its device null']);
  await cloud.remove(server);
  await eventually(() => said()).toEqual([]);
});

it('a card of vGPUs that is unplugged while it cleans one', async () => {
  await untilFree('VGPU', 1);
  const server = await cloud.boot('vgpu');
  host.slowDown({ clean: 3000 });
  await cloud.remove(server);
  await unplugIn('clean', { clean: 3000 });
  await eventually(() => said()).toEqual([expect.stringMatching(/^quarantine: 1 attach handles/)]);
  host.slowDown({});
  await eventually(() => said()).toEqual([]);
});

it('a card of vGPUs that is unplugged while it makes one', async () => {
  await untilFree('VGPU', 1);
  host.slowDown({ prepare: 3000 });
  const server = (await cloud.create('vgpu')) ?? '';
  await unplugIn('prepare', { prepare: 3000 });
  expect(await cloud.built(server)).toBe('ERROR');
  // The host has made nothing, so the handle needs no cleaning.
  await eventually(() => said()).toEqual([`failed-bind: ${lostIn('ENODEV: prepare')}`]);
  await eventually(addresses).toHaveLength(2);
  host.slowDown({});
  await cloud.remove(server);
});

it('a card that is unplugged while it is programmed', async () => {
  await eventually(addresses).toHaveLength(3);
  const [device] = (await offered()).filter((each) => JSON.stringify(each).includes('9b01'));
  const id = crypto.randomUUID();
  const glance = `${urlOf(layout, 'glance')}/v2/images`;
  const properties = {
    'accel:component': 'bios',
    'accel:models': 'abcd:9b01',
    'accel:version': '2.0',
  };
  await ask(glance, 'POST', { id, name: 'bios', ...properties });
  const headers = { 'X-Auth-Token': 'admin-token' };
  await fetch(`${glance}/${id}/file`, { method: 'PUT', headers, body: '2.0\n' });
  host.slowDown({ program: 4000 });
  const change = [{ op: 'add', path: '/firmware/bios', value: id }];
  expect((await api(`/v2/devices/${device?.uuid}`, 'PATCH', change)).status).toBe(204);
  await unplugIn('program', { program: 4000 });
  const lostCard = `unhealthy-device: The device at ${vgpuAddress} is gone from its host, and its program of bios failed: ${lostIn('write of bios: ENODEV: program.')}`;
  await eventually(() => said()).toEqual(expect.arrayContaining([lostCard]));
  host.slowDown({});
  // It is offered after ten minutes without a fault.
  const withheld = `unhealthy-device: The device at ${vgpuAddress} is withheld: the program of bios (write) failed: ENODEV: program.`;
  await eventually(() => said()).toEqual(expect.arrayContaining([withheld]));
});
