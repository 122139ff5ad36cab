// The region is away for a while and comes back: all parts that stand for AWS are killed at once,
// in the middle of binds and releases. Meanwhile servers are deleted, an agent restarts, a host
// boots and a device is removed. docs/operations/region-away.md shows it, with what is measured
// here.
//
// @module-tag long

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createConsumerDeps } from '#core/consumer-deps.ts';
import { reap } from '#core/operations/release/reap/reap.ts';
import { queueUrlVariable } from '#core/settings.ts';
import { waitFor } from '#local/demo/demo-client.ts';
import { noteProgress } from '#local/demo/stillness.ts';
import { chooseLayout, type Layout, urlOf } from '#local/process/layout.ts';
import { type System, startSystem } from '#local/process/system.ts';
import {
  ask,
  type Cloud,
  type CloudHost,
  createCloud,
  createHost,
  handlesOf,
  operate,
} from './cloud-hosts.ts';

/** Everything but OpenStack and the hosts, in the order of a start. */
const awsParts = ['dynamodb', 'queues', 's3', 'events', 'broker', 'api', 'consumers'];

/** To measure a longer outage: REGION_AWAY_SECONDS. */
const awaySecondsMin = Number(process.env.REGION_AWAY_SECONDS ?? 0);

let directory: string;
let layout: Layout;
let system: System;
let cloud: Cloud;
let hosts: readonly [CloudHost, CloudHost, CloudHost];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cyborg-outage-'));
  layout = await chooseLayout({ stage: 'outage', directory, anyPorts: true });
  system = await startSystem({ layout, agents: [], restart: false, onLine: noteProgress });
  cloud = createCloud(layout);
  const own = join(directory, 'hosts');
  hosts = [createHost('cmp1', own), createHost('cmp2', own), createHost('cmp3', own)];
  for (const host of hosts) {
    await host.enrol(layout);
    host.startAgent();
  }
  await cloud.prepare(hosts);
});

afterAll(async () => {
  for (const host of hosts ?? []) await host.agent().killHard();
  await system?.stop();
  if (directory) rmSync(directory, { recursive: true, force: true });
});

const stored = () => handlesOf(layout.stage, hosts);

/** How many units of the class Nova could still allocate, of all hosts. */
async function offeredBy(resourceClass: string): Promise<number> {
  const query = `resources=${resourceClass}:1&limit=100`;
  const { json } = await ask(
    `${urlOf(layout, 'placement')}/allocation_candidates?${query}`,
    'GET',
    undefined,
    { 'OpenStack-API-Version': 'placement 1.36' },
  );
  return json.allocation_requests.length;
}

/** Server → the handle that it holds; fails where two hold one. */
async function holders(): Promise<ReadonlyMap<string, string>> {
  const claimed = (await stored()).flatMap(({ uuid, claim }) =>
    claim ? [[claim.instanceUuid, uuid] as const] : [],
  );
  expect(new Set(claimed.map(([, handle]) => handle)).size).toBe(claimed.length);
  return new Map(claimed);
}

async function asAdmin(path: string, method = 'GET') {
  return ask(`${urlOf(layout, 'api')}/accelerator/v2${path}`, method);
}

/** The states of the hosts, as `cyborg-ops hosts list` shows them. */
async function stateOfHosts(): Promise<string[]> {
  const { json } = await ask(`${urlOf(layout, 'api')}/accelerator/operator/v1/hosts`);
  return json.hosts.map(({ state }: { state: string }) => state);
}

/** The binds whose servers have not been seen on a host. */
async function unseenServers(): Promise<number> {
  const sqs = new SQSClient();
  const QueueUrl = process.env[queueUrlVariable('nova-events')];
  const asked = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] });
  const { Attributes = {} } = await sqs.send(asked);
  sqs.destroy();
  const counts = Object.entries(Attributes).flatMap(([name, value]) =>
    name.startsWith('ApproximateNumberOfMessages') ? [Number(value)] : [],
  );
  expect(counts).toHaveLength(3);
  return counts.reduce((sum, each) => sum + each);
}

const seconds = (from: number) => Math.round((performance.now() - from) / 1000);

it('an outage loses nothing, and what it leaves behind the operator finds', async () => {
  const [cmp1, cmp2, cmp3] = hosts;
  await waitFor(
    'six GPUs in Placement',
    () => offeredBy('PGPU'),
    (count) => count === 6,
  );
  await waitFor(
    'three vGPU cards',
    () => offeredBy('VGPU'),
    (count) => count >= 3,
  );

  // Servers on all three hosts; one GPU, and three vGPUs of cmp3, stay free.
  const gpus = await Promise.all(Array.from({ length: 5 }, () => cloud.boot('gpu')));
  const vgpus = await Promise.all(Array.from({ length: 9 }, () => cloud.boot('vgpu')));
  const placed = new Map<string, string>();
  for (const id of [...gpus, ...vgpus]) placed.set(id, (await cloud.server(id))?.host ?? '');
  const on = (servers: readonly string[], { name }: CloudHost) =>
    servers.filter((id) => placed.get(id) === name);
  expect(hosts.map((host) => on(vgpus, host).length)).toEqual([4, 4, 1]);
  // A server that is deleted before it was seen on a host is released without its delete.
  await waitFor('each server to be seen on its host', unseenServers, (count) => count === 0);

  // Binds and releases are under way, and both need their hosts.
  for (const host of hosts) host.slowDown({ prepare: 5000, clean: 5000 });
  const released = [on(vgpus, cmp1)[0] ?? '', on(vgpus, cmp2)[0] ?? ''];
  for (const id of released) await cloud.remove(id);
  const building = [await cloud.create('vgpu'), await cloud.create('vgpu')];
  await waitFor(
    'two releases and a bind to be under way',
    async () => {
      const handles = await stored();
      const { json } = await asAdmin('/accelerator_requests');
      const states: string[] = json.arqs.map(({ state }: { state: string }) => state);
      return {
        releases: handles.filter(({ release }) => release).length,
        binds: states.filter((state) => state === 'BindStarted').length,
      };
    },
    ({ releases, binds }) => releases >= 2 && binds >= 1,
  );
  const before = await holders();
  const [free] = (await stored()).filter(({ type, claim }) => type === 'PCI' && !claim);
  if (!free) throw new Error('No GPU is free.');
  await Promise.all(awsParts.map((name) => system.kill(name)));
  const awayAt = performance.now();
  for (const host of hosts) host.slowDown({});

  // What goes on without the region.
  expect(await cloud.create('gpu')).toBeUndefined();
  const deleted = [on(gpus, cmp1)[0] ?? '', on(vgpus, cmp3)[0] ?? ''];
  for (const id of deleted) await cloud.remove(id);
  await cmp1.agent().killHard();
  cmp1.startAgent();
  await cmp2.agent().killHard();
  cmp2.boot();
  cmp2.startAgent();
  await waitFor(
    'the vGPUs of the host that has booted',
    async () => cmp2.mdevs(),
    (mdevs) => mdevs.length >= 3,
  );
  const usedGpus = new Set(
    (await Promise.all(on(gpus, cmp3).map((id) => cloud.server(id)))).map((each) => each?.status),
  );
  expect(usedGpus).toEqual(new Set(['ACTIVE']));
  hosts.find(({ name }) => name === free.host)?.sysfs.removeFunction(free.address);
  for (const { agent } of hosts) {
    await waitFor(
      'the agent to try again',
      async () => agent().output().split('Not connected').length,
      (tries) => tries > 3,
    );
  }
  const running = [...gpus, ...vgpus].filter((id) => ![...deleted, ...released].includes(id));
  for (const id of running) expect(await cloud.server(id)).toMatchObject({ status: 'ACTIVE' });

  await waitFor(
    `${awaySecondsMin} s to pass`,
    async () => seconds(awayAt),
    (passed) => passed >= awaySecondsMin,
  );
  const awaySeconds = seconds(awayAt);
  const backAt = performance.now();
  for (const name of awsParts) await system.start(name);

  // Users try again, and delete the servers whose build the outage has failed.
  const tried: string[] = [];
  const first = await waitFor(
    'a server to boot again',
    async () => {
      const id = await cloud.create('vgpu');
      if (id === undefined) return 'refused';
      tried.push(id);
      return cloud.built(id);
    },
    (status) => status === 'ACTIVE',
  );
  expect(first).toBe('ACTIVE');
  const firstSeconds = seconds(backAt);
  for (const id of [...building.flatMap((each) => each ?? []), ...tried]) {
    await cloud.built(id);
    await cloud.remove(id);
  }

  // Everything settles by itself but the two servers whose delete did not arrive.
  const names = hosts.map(({ name }) => name);
  await waitFor(
    'no release and no quarantine',
    async () => (await stored()).filter(({ release, quarantine }) => release || quarantine),
    (held) => held.length === 0,
  );
  const listed = await waitFor(
    'every request to be Bound',
    async () => (await asAdmin('/accelerator_requests')).json.arqs as { state: string }[],
    (arqs) => arqs.every(({ state }) => state === 'Bound'),
  );
  expect(listed).toHaveLength(running.length + deleted.length);
  await waitFor(
    'the hosts to be online',
    stateOfHosts,
    (states) => states.length === 3 && states.every((state) => state === 'online'),
  );
  const settledSeconds = seconds(backAt);

  // What was being written to Placement when the region went is written again after six minutes,
  // or at once by the operator.
  await operate(layout, ['reconcile', ...names, '--repair']);
  const told = await waitFor(
    'Placement to agree but for two servers',
    () => operate(layout, ['reconcile', ...names]),
    ({ output }) =>
      output.match(/^≠/gm)?.length === 2 &&
      deleted.every((id) => output.includes(`bound without allocation: ${id}`)),
  );
  expect(told.code).toBe(1);

  // The operator deletes what Nova has deleted; the reaper would do so after ten minutes.
  const { status } = await asAdmin(`/accelerator_requests?instance=${deleted[0]}`, 'DELETE');
  expect(status).toBe(204);
  const deps = createConsumerDeps('sweep');
  await reap(deps);
  await reap({ ...deps, clock: () => Date.now() + 11 * 60_000 });
  await waitFor(
    'the hosts to agree with Placement',
    () => operate(layout, ['reconcile', ...names]),
    ({ code }) => code === 0,
  );
  await waitFor(
    'the doctor to find nothing wrong',
    () => operate(layout, ['doctor']),
    ({ output }) => / 0 wrong, /.test(output),
  );

  // Each server has the handle of before, and each host the mdevs of its servers.
  const after = await holders();
  expect([...after.keys()].sort()).toEqual([...running].sort());
  for (const [id, handle] of after) expect(handle).toBe(before.get(id));
  const handles = await stored();
  for (const host of hosts) {
    const wanted = handles.filter((each) => each.host === host.name && each.type === 'MDEV');
    const held = wanted.flatMap(({ uuid, claim }) => (claim ? [uuid] : []));
    expect(host.mdevs(), host.name).toEqual(held.sort());
  }
  expect(handles.filter(({ uuid }) => uuid === free.uuid)).toEqual([]);
  process.stdout.write(
    `The region was away for ${awaySeconds} s: first server ${firstSeconds} s after the start of ` +
      `the parts, settled after ${settledSeconds} s; ${running.length} servers kept their devices.\n`,
  );
});
