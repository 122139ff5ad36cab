// One scenario from a seed: up to twenty minutes of use with faults, then an hour without faults,
// after which all sides must agree.

import { type Disaster, disasters } from '#simulation/faults.ts';
import type { Violation } from '#simulation/violation.ts';
import { fpgaAddress, gpuAddress, nicAddress } from '#simulation/world/hardware.ts';
import { changeLimits, limitByOperator } from '#simulation/world/rules/limits/quotas.ts';
import { startMs } from '#simulation/world/stage.ts';
import { createWideCheck, endWide, startWide } from '#simulation/world/wide.ts';
import { createWorld, type World, type WorldOptions } from '#simulation/world/world.ts';
import { checkConvergence, createSafetyCheck } from './invariants.ts';

const minuteMs = 60_000;
const readyMs = 2 * minuteMs;
/** Long enough for deadlines, quarantine, unbound ARQs, and the reaper. */
const quiescenceMs = 60 * minuteMs;

export interface Outcome {
  readonly seed: number;
  readonly steps: number;
  readonly simulatedMs: number;
  readonly faults: ReadonlyMap<string, number>;
  readonly transitions: ReadonlyMap<string, number>;
  readonly servers: Readonly<Record<string, number>>;
  readonly violation?: Violation;
}

export async function runSeed(seed: number, options: WorldOptions = {}): Promise<Outcome> {
  const world = createWorld(seed, options);
  let violation: Violation | undefined;
  try {
    await runScenario(world, options.isWide === true);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'Violation') throw error;
    violation = error as Violation;
  } finally {
    world.stop();
  }
  const { timeline, faults, transitions, nova } = world;
  const byStatus = Object.groupBy(nova.servers, ({ status }) => status);
  return {
    seed,
    steps: timeline.steps(),
    simulatedMs: timeline.now() - startMs,
    faults: faults.counts,
    transitions: transitions.seen,
    servers: Object.fromEntries(
      Object.entries(byStatus).map(([status, servers]) => [status, servers.length]),
    ),
    ...(violation && { violation }),
  };
}

async function runScenario(world: World, isWide: boolean): Promise<void> {
  const check = createSafetyCheck(world);
  const checkWide = isWide ? createWideCheck(world) : undefined;
  createProfiles(world);
  if (world.random.chance(0.5)) void limitByOperator(world, { VGPU: world.random.between(1, 4) });
  await world.runFor(readyMs, check);
  const busyMs = world.random.between(5, 20) * minuteMs;
  const { random } = world;
  // In half of the scenarios all servers boot at nearly the same moment.
  const rushMs = random.chance(0.5) ? random.between(20, 2000) : undefined;
  for (let count = random.between(3, 8); count > 0; count -= 1) {
    soon(world, rushMs ?? busyMs, () =>
      rushMs === undefined ? useServer(world, 5 * minuteMs) : useServers(world),
    );
  }
  for (let count = world.random.between(0, 3); count > 0; count -= 1) {
    soon(world, busyMs, () => startDisaster(world));
  }
  for (let count = world.random.between(0, 2); count > 0; count -= 1) {
    soon(world, busyMs, () => unbindAndRebind(world));
  }
  soon(world, busyMs, () => probe(world));
  for (let count = world.random.between(0, 2); count > 0; count -= 1) {
    soon(world, busyMs, () => changeLimits(world));
  }
  if (isWide) startWide(world, busyMs);
  await world.runFor(busyMs + 10 * minuteMs, check);
  stopFaults(world);
  if (isWide) endWide(world);
  await world.runFor(quiescenceMs, check);
  checkConvergence(world);
  checkWide?.();
}

export function createProfiles({ api, spawn, profiles }: World): void {
  const operator = spawn('nova operator');
  for (const { name, groups } of profiles) {
    void api(operator, 'POST', '/device_profiles', [{ name, groups }], 'admin-token');
  }
}

function soon({ timeline, random }: World, withinMs: number, act: () => unknown): void {
  timeline.at(timeline.now() + random.between(0, withinMs), () => {
    act();
  });
}

/** Boots servers one after the other, each for seconds only. */
async function useServers(world: World): Promise<void> {
  for (let count = world.random.between(1, 5); count > 0; count -= 1) {
    await useServer(world, world.random.pick([100, 2000, 20_000]));
  }
}

/** Boots a server, uses it, and mostly deletes it. */
async function useServer(world: World, longestMs: number): Promise<void> {
  const { nova, random, timeline } = world;
  const server = await nova.boot(random.pick(world.profiles));
  const process = world.spawn('nova user');
  await timeline.sleep(process, random.between(10, longestMs));
  if (server.status === 'ACTIVE' && random.chance(0.3)) await nova.hardReboot(server);
  if (server.status === 'ACTIVE' && random.chance(0.2)) await nova.shelveAndUnshelve(server);
  await timeline.sleep(process, random.between(10, longestMs));
  if (server.status !== 'DELETED' && random.chance(0.8)) await nova.delete(server);
}

async function unbindAndRebind({ nova, random }: World): Promise<void> {
  if (nova.servers.length > 0) await nova.unbindAndRebind(random.pick(nova.servers));
}

/** Asks for the ARQs of other projects (I8). */
async function probe(world: World): Promise<void> {
  const process = world.spawn('nova other project');
  for (const path of ['', ...world.nova.servers.map(({ uuid }) => `?instance=${uuid}`)]) {
    const { status, json } = await world.api(
      process,
      'GET',
      `/accelerator_requests${path}`,
      undefined,
      'other-token',
    );
    if (status === 200 && json.arqs.length > 0) {
      world.violate('I8', `another project sees ${json.arqs.length} ARQs`);
    }
  }
}

function startDisaster(world: World): void {
  const { random, hosts, faults, openstack, iot, timeline } = world;
  const host = random.pick(hosts);
  const forAWhile = (act: () => void, undo: () => void, mostMs = 8 * minuteMs) => {
    act();
    timeline.at(timeline.now() + random.between(10_000, mostMs), undo);
  };
  const outage = (service: 'Nova' | 'Placement' | 'Keystone') =>
    forAWhile(
      () => void openstack.outages.add(service),
      () => void openstack.outages.delete(service),
    );
  const strikes: Readonly<Record<Disaster, () => void>> = {
    'host reboots': () => host.reboot(random.between(20_000, 3 * minuteMs)),
    'host lost for days': () => {
      host.reboot(random.between(20, 40) * minuteMs);
      const lost = world.nova.servers.filter(
        (server) => server.host === host.name && server.status === 'ACTIVE',
      );
      if (hosts.length > 1) for (const server of lost) void world.nova.evacuate(server);
    },
    'device removed': () => {
      const address = random.pick([gpuAddress, fpgaAddress, nicAddress]);
      forAWhile(
        () => void host.hardware.present.delete(address),
        () => void host.hardware.present.add(address),
      );
    },
    'Nova outage': () => outage('Nova'),
    'Nova forgets servers': () =>
      forAWhile(
        () => {
          openstack.isCellDown = true;
        },
        () => {
          openstack.isCellDown = false;
        },
        30 * minuteMs,
      ),
    'Placement outage': () => outage('Placement'),
    'Keystone outage': () => outage('Keystone'),
    'IoT outage': () =>
      forAWhile(
        () => {
          iot.isOut = true;
        },
        () => {
          iot.isOut = false;
        },
      ),
    'clock set back': () => {
      host.clockOffsetMs -= random.between(1000, 60 * minuteMs);
    },
  };
  // A reboot affects most parts of the product, so it is the most frequent disaster.
  const kind = random.chance(0.3) ? 'host reboots' : random.pick(disasters);
  faults.note(kind);
  strikes[kind]();
}

function stopFaults({ faults, openstack, iot, hosts }: World): void {
  faults.stop();
  openstack.outages.clear();
  openstack.revoked.clear();
  iot.isOut = false;
  openstack.isCellDown = false;
  for (const host of hosts)
    for (const at of [gpuAddress, fpgaAddress, nicAddress]) host.hardware.present.add(at);
}
