// One scenario of a cloud: an hour of use with everything going wrong, then peace, and in the end all sides
// must agree.

import { type Disaster, disasters } from './faults.ts';
import { fpgaAddress, gpuAddress, nicAddress } from './host.ts';
import { checkConvergence, createSafetyCheck } from './invariants.ts';
import type { Violation } from './violation.ts';
import { createWorld, startMs, type World, type WorldOptions } from './world.ts';

const minuteMs = 60_000;
const readyMs = 2 * minuteMs;
/** Within it everything must have come to rest: deadlines, quarantine, forgotten ARQs, the reaper. */
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
    await runLife(world);
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

async function runLife(world: World): Promise<void> {
  const check = createSafetyCheck(world);
  makeProfiles(world);
  await world.runFor(readyMs, check);
  const busyMs = world.random.between(5, 20) * minuteMs;
  const { random } = world;
  // Some clouds are quiet, in others everybody wants the same at the same moment.
  const rushMs = random.chance(0.5) ? random.between(20, 2000) : undefined;
  for (let count = random.between(3, 8); count > 0; count -= 1) {
    soon(world, rushMs ?? busyMs, () =>
      rushMs === undefined ? useServer(world, 5 * minuteMs) : useServers(world),
    );
  }
  for (let count = world.random.between(0, 3); count > 0; count -= 1) {
    soon(world, busyMs, () => strike(world));
  }
  for (let count = world.random.between(0, 2); count > 0; count -= 1) {
    soon(world, busyMs, () => unbindAndRebind(world));
  }
  soon(world, busyMs, () => probe(world));
  await world.runFor(busyMs + 10 * minuteMs, check);
  stopFaults(world);
  await world.runFor(quiescenceMs, check);
  checkConvergence(world);
}

export function makeProfiles({ api, spawn, profiles }: World): void {
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

/** One after the other, each for seconds only. */
async function useServers(world: World): Promise<void> {
  for (let count = world.random.between(1, 5); count > 0; count -= 1) {
    await useServer(world, world.random.pick([100, 2000, 20_000]));
  }
}

/** A server's scenario: built, used, and mostly deleted. */
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

/** A stranger asks for other people's ARQs (I8). */
async function probe(world: World): Promise<void> {
  const process = world.spawn('nova stranger');
  for (const path of ['', ...world.nova.servers.map(({ uuid }) => `?instance=${uuid}`)]) {
    const { status, json } = await world.api(
      process,
      'GET',
      `/accelerator_requests${path}`,
      undefined,
      'other-token',
    );
    if (status === 200 && json.arqs.length > 0) {
      world.violate('I8', `a stranger sees ${json.arqs.length} ARQs`);
    }
  }
}

function strike(world: World): void {
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
    'host boots': () => host.reboot(random.between(20_000, 3 * minuteMs)),
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
          openstack.isForgetful = true;
        },
        () => {
          openstack.isForgetful = false;
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
  // A boot asks most of everybody.
  const kind = random.chance(0.3) ? 'host boots' : random.pick(disasters);
  faults.note(kind);
  strikes[kind]();
}

function stopFaults({ faults, openstack, iot, hosts }: World): void {
  faults.stop();
  openstack.outages.clear();
  iot.isOut = false;
  openstack.isForgetful = false;
  for (const host of hosts)
    for (const at of [gpuAddress, fpgaAddress, nicAddress]) host.hardware.present.add(at);
}
