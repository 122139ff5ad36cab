// Servers boot and go while processes are killed, hosts boot, two operators change what they can,
// and a hostile host publishes what it can; then an independent checker compares tables, history,
// Placement, Nova, hosts and incidents. CHAOS_BOOTS and CHAOS_KILLS make it longer.
//
// @module-tag long

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { createConsumerDeps } from '#core/consumer-deps.ts';
import { silentLog } from '#core/log.ts';
import { noMetrics } from '#core/metrics.ts';
import { reap } from '#core/operations/release/reap/reap.ts';
import { waitFor } from '#local/demo/demo-client.ts';
import { noteProgress } from '#local/demo/stillness.ts';
import { chooseLayout, type Layout, urlOf } from '#local/process/layout.ts';
import { type System, startSystem } from '#local/process/system.ts';
import { createRandom } from '#simulation/random.ts';
import {
  ask,
  type Cloud,
  type CloudHost,
  createCloud,
  createHost,
  type Kind,
  unitsOf,
} from '#test/local/cloud-hosts.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import {
  beyondLimits,
  differences,
  handlesIn,
  type Outside,
  readTables,
  type Stored,
  violations,
} from './checker.ts';
import { createHostileHost } from './hostile-host.ts';
import { createOperators, type Operators } from './operators.ts';

const bootsWanted = Number(process.env.CHAOS_BOOTS ?? 30);
const killsWanted = Number(process.env.CHAOS_KILLS ?? 6);
const seed = Number(process.env.CHAOS_SEED ?? Math.floor(Math.random() * 1_000_000));
/** All but OpenStack, whose fakes have no second copy of what they know. */
const parts = ['dynamodb', 'queues', 'events', 'broker', 'api', 'consumers'];
const usersAtOnce = 5;
/** The time of a run with hundreds of servers on a busy machine. */
const longestMs = 2 * 3_600_000;
/** Servers that are still there at the end. */
const lastingServers = 4;

const random = createRandom(seed);
let directory: string;
let layout: Layout;
let system: System;
let cloud: Cloud;
let hosts: readonly CloudHost[];
/** The last of them: operators revoke it, forget it and enrol it again. */
let spare: CloudHost;
let hostile: CloudHost;
let operators: Operators;
const started: CloudHost[] = [];

async function setUp(): Promise<void> {
  directory = mkdtempSync(join(tmpdir(), 'cyborg-chaos-'));
  layout = await chooseLayout({ stage: 'chaos', directory, anyPorts: true });
  // The images of the simulated firmware are made here, and not signed.
  const variables = { CYBORG_REQUIRE_SIGNATURE: '' };
  const given = { layout, agents: [], restart: false, onLine: noteProgress, variables };
  system = await startSystem(given);
  cloud = createCloud(layout);
  const named = (name: string) => createHost(name, join(directory, 'hosts'), { hasBoard: true });
  spare = named('cmp4');
  hostile = named('cmp5');
  hosts = [named('cmp1'), named('cmp2'), named('cmp3'), spare];
  for (const host of hosts) {
    await host.enrol(layout);
    host.startAgent();
    started.push(host);
  }
  await hostile.enrol(layout);
  await cloud.prepare(hosts);
  await bootPlain();
  await eventually(() => candidatesFor('PGPU')).toBe(8);
  await eventually(() => candidatesFor('CUSTOM_BOARD_GPU')).toBe(4);
  await eventually(() => candidatesFor('VGPU')).toBeGreaterThanOrEqual(4);
  // The agents have made the folders of their simulated hardware by then.
  for (const host of hosts) host.slowDown({ prepare: 300, clean: 300, program: 500 });
  operators = createOperators({ layout, hosts, spare, random });
}

afterAll(async () => {
  for (const host of started) await host.agent().killHard();
  await system?.stop();
  if (directory) rmSync(directory, { recursive: true, force: true });
});

async function candidatesFor(resourceClass: string): Promise<number> {
  const query = `resources=${resourceClass}:${resourceClass === 'CUSTOM_BOARD_GPU' ? 2 : 1}&limit=100`;
  const { json } = await placement(`/allocation_candidates?${query}`);
  return json.allocation_requests.length;
}

function placement(path: string) {
  const version = { 'OpenStack-API-Version': 'placement 1.36' };
  return ask(`${urlOf(layout, 'placement')}${path}`, 'GET', undefined, version);
}

/** What Nova, Placement and the hosts have now. */
async function outside(servers: readonly string[]): Promise<Outside> {
  const used = new Map<string, number>();
  const reserved = new Map<string, number>();
  const consumers = new Set<string>();
  const { json } = await placement('/resource_providers');
  for (const { uuid } of json.resource_providers as { uuid: string }[]) {
    const [inventories, allocations] = await Promise.all([
      placement(`/resource_providers/${uuid}/inventories`),
      placement(`/resource_providers/${uuid}/allocations`),
    ]);
    for (const [name, each] of Object.entries<{ reserved: number }>(inventories.json.inventories)) {
      if (each.reserved > 0 && isAccelerator(name)) reserved.set(uuid, each.reserved);
    }
    type Held = { readonly resources: Readonly<Record<string, number>> };
    for (const [consumer, { resources }] of Object.entries<Held>(allocations.json.allocations)) {
      for (const [name, units] of Object.entries(resources).filter(([each]) =>
        isAccelerator(each),
      )) {
        consumers.add(consumer);
        used.set(uuid, (used.get(uuid) ?? 0) + units);
        expect(name).toMatch(/GPU$/);
      }
    }
  }
  const mdevs = hosts.flatMap((host) => host.mdevs());
  return { servers, used, reserved, consumers: [...consumers], mdevs };
}

const isAccelerator = (resourceClass: string) => resourceClass.endsWith('GPU');

/**
 * Those of hosts that are not hostile: all is well there, so any is false but those of binds that
 * failed within the last hour.
 */
async function incidents(): Promise<string[]> {
  const path = '/accelerator/operator/v1/incidents?limit=1000';
  const { json } = await ask(`${urlOf(layout, 'api')}${path}`);
  type Incident = { readonly kind: string; readonly hostname: string; readonly reason: string };
  return (json.incidents as Incident[])
    .filter(({ kind, hostname }) => kind !== 'failed-bind' && hostname !== hostile.name)
    .map(({ kind, hostname, reason }) => `Incident ${kind} of ${hostname}: ${reason}`);
}

interface Tally {
  asked: number;
  active: number;
  readonly lasting: string[];
  readonly broken: string[];
}

/** A user who boots one server after another, and deletes each, whatever became of it. */
async function boots(tally: Tally): Promise<void> {
  while (tally.asked < bootsWanted) {
    tally.asked += 1;
    const isLast = tally.asked > bootsWanted - lastingServers;
    const kind: Kind = random.pick(['gpu', 'vgpu', 'vgpu', 'pair', 'quad']);
    const id = await cloud.create(kind);
    const status = id === undefined ? 'refused' : await cloud.built(id);
    // A user who tries again at once would use up all boots while one process is away.
    if (status !== 'ACTIVE') await delay(random.between(500, 2500));
    if (id === undefined) continue;
    if (status === 'ACTIVE') {
      tally.active += 1;
      const held = handlesIn(await tables()).filter((row) => row.instance_uuid === id);
      if (held.length !== unitsOf[kind]) {
        tally.broken.push(`${id} is ACTIVE with ${held.length} devices, as a ${kind}.`);
      }
      if (isLast) {
        tally.lasting.push(id);
        continue;
      }
      await delay(random.between(0, 1500));
    }
    await cloud.remove(id);
  }
}

/** A server without an accelerator, by which the reaper sees that Nova shows it other projects. */
async function bootPlain(): Promise<void> {
  const nova = `${urlOf(layout, 'nova')}/v2.1`;
  const flavor = { id: 'plain', name: 'plain', vcpus: 1, ram: 64, disk: 1 };
  await ask(`${nova}/flavors`, 'POST', { flavor });
  const body = { server: { name: 'plain', flavorRef: 'plain' } };
  const { json } = await ask(`${nova}/servers`, 'POST', body, { 'X-Auth-Token': 'demo-token' });
  expect(await cloud.built(json.server.id)).toBe('ACTIVE');
}

/** The tables, once the engine answers; what must never be is looked for at each reading. */
async function tables() {
  // Not by expect.poll, which keeps what it has seen until the end of the test.
  const read = (await waitFor(
    'the tables to be read',
    () => readTables(layout.stage).catch(() => undefined),
    (stored) => stored !== undefined,
  )) as Stored;
  expect([...violations(read), ...beyondLimits(read)]).toEqual([]);
  return read;
}

/** Kills in step with the boots, so that a slow machine gets no more of them. */
async function kills(tally: Tally): Promise<string[]> {
  const killed: string[] = [];
  while (killed.length < killsWanted) {
    const due = Math.floor((tally.asked / bootsWanted) * killsWanted) + 1;
    if (killed.length >= Math.min(due, killsWanted)) {
      await delay(50);
      continue;
    }
    const what = random.pick([...parts, 'agent', 'power']);
    killed.push(what);
    if (what === 'agent' || what === 'power') {
      // The operators start and end the agent of the spare host.
      const host = random.pick(hosts.filter((each) => each !== spare));
      await host.agent().killHard();
      if (what === 'power') host.boot();
      await delay(random.between(0, 1000));
      host.startAgent();
    } else {
      await system.kill(what);
      await delay(random.between(0, 2000));
      await system.start(what);
    }
    await reapLost();
    await delay(random.between(200, 1500));
  }
  return killed;
}

/**
 * A delete that met no API leaves devices behind, which the reaper releases after ten minutes:
 * here at once, or soon no server would boot. Its first look seems eleven minutes old; the release
 * has the time of now, as the history needs it.
 */
async function reapLost(): Promise<void> {
  const deps = { ...createConsumerDeps('sweep'), log: silentLog, metrics: noMetrics };
  for (const agoMs of [11 * 60_000, 0]) {
    await reap({ ...deps, clock: () => Date.now() - agoMs }).catch(() => {});
  }
}

it(
  `${bootsWanted} boots beside ${killsWanted} kills leave nothing that differs (seed ${seed})`,
  async () => {
    await setUp();
    const tally: Tally = { asked: 0, active: 0, lasting: [], broken: [] };
    const users = Array.from({ length: usersAtOnce }, () => boots(tally));
    const over = new AbortController();
    const victims = hosts.filter((each) => each !== spare);
    const intruder = createHostileHost(layout, hostile, victims, tables, random);
    const others = [
      operators.work(over.signal),
      operators.work(over.signal),
      intruder.harm(over.signal),
    ] as const;
    const [killed] = await Promise.all([kills(tally), ...users]).finally(() => over.abort());
    const [, , harmed] = await Promise.all(others);
    const endedAt = performance.now();
    expect([...tally.broken, ...operators.broken]).toEqual([]);
    expect(tally.active).toBeGreaterThan(0);

    const findings = async () => {
      await operators.tidyUp();
      await reapLost();
      const found = differences(await tables(), await outside(tally.lasting));
      return [...found, ...(await incidents())];
    };
    // A consumer that was killed keeps its messages for six minutes.
    await eventually(findings, { intervalMs: 500, stillSeconds: 480 }).toEqual([]);
    const seconds = Math.round((performance.now() - endedAt) / 1000);
    const counts = (some: ReadonlyMap<string, unknown>) =>
      [...some].map(([name, count]) => `${name} ${count}`).join('; ');
    process.stdout.write(
      `Seed ${seed}: ${tally.asked} servers, ${tally.active} ACTIVE, ${tally.lasting.length} still there; ` +
        `all agreed ${seconds} s after the end; killed ${killed.join(', ')}.\n` +
        `Operators, done of asked: ${counts(operators.asked)}.\nHostile: ${counts(harmed)}.\n`,
    );
  },
  longestMs,
);
