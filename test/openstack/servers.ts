// Servers from the view of their users, and what remains after a delete.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Arq, eventually } from '#test/support/suites/rest.ts';
import type { Stage } from './stage.ts';

/** Creates a device profile and a flavor with it, both with this name. */
export async function offer(stage: Stage, name: string, groups: readonly object[]): Promise<void> {
  const { accelerator, nova } = stage.admin;
  await accelerator.ask('POST', '/device_profiles', [{ name, groups }]);
  await makeFlavor(stage, name);
  await nova.ask('POST', `/flavors/${name}/os-extra_specs`, {
    extra_specs: { 'accel:device_profile': name },
  });
}

export async function makeFlavor({ admin }: Stage, name: string): Promise<void> {
  await admin.nova.ask('POST', '/flavors', flavorNamed(name));
}

export function flavorNamed(name: string) {
  return { flavor: { id: name, name, vcpus: 1, ram: 64, disk: 1 } };
}

/** Puts a public image into Glance; returns its id. */
export async function putImage(
  { admin }: Stage,
  name: string,
  data: Uint8Array<ArrayBuffer>,
  properties: object = {},
): Promise<string> {
  const form = { visibility: 'public', disk_format: 'raw', container_format: 'bare' };
  const { body } = await admin.glance.ask('POST', '/v2/images', { name, ...form, ...properties });
  await admin.glance.ask('PUT', `/v2/images/${body.id}/file`, data);
  return body.id;
}

async function imageId(stage: Stage): Promise<string> {
  return (await stage.demo.glance.ask('GET', '/v2/images?name=cirros')).body.images[0].id;
}

export async function flavorId(stage: Stage, name: string): Promise<string> {
  const { flavors } = (await stage.demo.nova.ask('GET', '/flavors')).body;
  const found = flavors.find((flavor: { name: string }) => flavor.name === name);
  assert.ok(found, `unknown flavor: ${name}`);
  return found.id;
}

interface Wishes {
  /** Hints for the scheduler. */
  readonly hints?: object;
  readonly networks?: readonly object[];
  /** The id of another image than the usual one. */
  readonly image?: string;
}

/** Creates a server as a tenant; returns its id at once. */
export async function create(
  stage: Stage,
  flavor: string,
  { hints, networks, image }: Wishes = {},
): Promise<string> {
  const reply = await stage.demo.nova.ask('POST', '/servers', {
    server: {
      name: `on-${flavor}`,
      flavorRef: await flavorId(stage, flavor),
      imageRef: image ?? (await imageId(stage)),
      networks: networks ?? 'none',
    },
    ...(hints && { 'os:scheduler_hints': hints }),
  });
  return reply.body.server.id;
}

export interface Built {
  readonly id: string;
  readonly status: string;
  readonly fault: string;
  readonly seconds: number;
}

/** Creates a server and waits until it is ACTIVE or in ERROR. */
export async function build(stage: Stage, flavor: string, wishes?: Wishes): Promise<Built> {
  const startedAt = performance.now();
  const id = await create(stage, flavor, wishes);
  const server = await untilBuilt(stage, id, 300);
  const seconds = (performance.now() - startedAt) / 1000;
  return { id, status: server.status, fault: server.fault, seconds };
}

/** Waits until the server is ACTIVE or in ERROR. */
export async function untilBuilt(stage: Stage, id: string, withinSeconds: number) {
  const built = await eventually(
    () => show(stage, id),
    ({ status, task }) => status !== 'BUILD' && task === null,
    withinSeconds,
  );
  if (built.status !== 'ERROR') return built;
  // Nova stores the fault after the state, and none where nova-compute ended in the build.
  return await eventually(
    () => show(stage, id),
    ({ fault }) => fault !== '',
    faultWithinSeconds,
  ).catch(() => built);
}

const faultWithinSeconds = 5;

export async function show(stage: Stage, id: string) {
  const { server } = (await stage.demo.nova.ask('GET', `/servers/${id}`)).body;
  return {
    status: server.status,
    task: server['OS-EXT-STS:task_state'],
    fault: server.fault?.message ?? '',
  };
}

export async function arqsOf(stage: Stage, id: string): Promise<readonly Arq[]> {
  const reply = await stage.demo.accelerator.ask('GET', `/accelerator_requests?instance=${id}`);
  return reply.body.arqs;
}

/**
 * Asserts that the server is ACTIVE with this count of accelerators, each with a handle and an
 * allocation.
 */
export async function assertHas(
  stage: Stage,
  built: Pick<Built, 'id' | 'status' | 'fault'>,
  count: number,
): Promise<readonly Arq[]> {
  assert.equal(built.status, 'ACTIVE', built.fault);
  const arqs = await arqsOf(stage, built.id);
  assert.deepEqual(
    arqs.map(({ state }) => state),
    Array.from({ length: count }, () => 'Bound'),
  );
  assert.equal(new Set(arqs.map((arq) => arq.attach_handle_uuid)).size, count);
  const allocations = await allocationsOf(stage, built.id);
  for (const provider of new Set(arqs.map((arq) => arq.device_rp_uuid))) {
    const bound = arqs.filter((arq) => arq.device_rp_uuid === provider).length;
    const [amount] = Object.values(allocations[provider]?.resources ?? {});
    assert.equal(amount, bound, `allocation from ${provider}`);
  }
  return arqs;
}

type Allocations = Readonly<Record<string, { resources: Readonly<Record<string, number>> }>>;

export async function allocationsOf(stage: Stage, id: string): Promise<Allocations> {
  return (await stage.admin.placement.ask('GET', `/allocations/${id}`)).body.allocations;
}

/** Deletes the server, if it is not gone yet, and waits until Nova no longer has it. */
export async function remove(stage: Stage, id: string): Promise<void> {
  const { status, body } = await stage.demo.nova.try('DELETE', `/servers/${id}`);
  assert.ok(status === 204 || status === 404, JSON.stringify(body));
  await eventually(
    () => stage.demo.nova.try('GET', `/servers/${id}`),
    ({ status }) => status === 404,
  );
}

/**
 * Asserts that no ARQ, no claim or release of a handle, and no allocation of the server is left.
 */
export async function assertNothingLeft(stage: Stage, id: string): Promise<void> {
  await eventually(
    () => arqsOf(stage, id),
    (arqs) => arqs.length === 0,
  );
  await eventually(
    () => allocationsOf(stage, id),
    (held) => Object.keys(held).length === 0,
  );
}

/** Deletes the server, and asserts that nothing of it is left. */
export async function removeCleanly(stage: Stage, id: string): Promise<void> {
  await remove(stage, id);
  await assertNothingLeft(stage, id);
}

/** Asserts that the server ends in ERROR without ever being ACTIVE; returns the fault. */
export async function assertNeverActive(stage: Stage, id: string): Promise<string> {
  for (;;) {
    const { status, task, fault } = await show(stage, id);
    assert.notEqual(status, 'ACTIVE', 'the server is ACTIVE without its accelerator');
    if (status === 'ERROR' && task === null && fault) return fault;
    await sleep(50);
  }
}

/** Builds one server with all vGPUs of a type: so none is held. */
export async function assertAllVgpusFree(stage: Stage): Promise<void> {
  const built = await buildAtLast(stage, 'all-vgpus');
  await assertHas(stage, built, 2);
  await removeCleanly(stage, built.id);
}

/** Builds servers until one is ACTIVE, and removes the others. */
export async function buildAtLast(stage: Stage, flavor: string): Promise<Built> {
  return await eventually(
    async () => {
      const each = await build(stage, flavor);
      if (each.status !== 'ACTIVE') await remove(stage, each.id);
      return each;
    },
    ({ status }) => status === 'ACTIVE',
    180,
  );
}
