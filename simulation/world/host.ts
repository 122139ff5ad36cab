// A simulated compute node: devices, disk, and the agent's real code above drivers and files.

import { type AgentDeps, runAgent } from '#agent/agent.ts';
import type { Clock } from '#agent/clock.ts';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import { recoverHandles } from '#agent/handles/recover-handles.ts';
import { createJobRunner } from '#agent/handles/run-jobs.ts';
import { createDiscovery } from '#agent/report/discover.ts';
import { createRediscoverRequests } from '#agent/report/rediscover-requests.ts';
import { openCheckpoint } from '#agent/state/checkpoint.ts';
import { openComponentRecords } from '#agent/state/component-records.ts';
import { openSequence } from '#agent/state/sequence.ts';
import { thingName } from '#core/contracts/topics.ts';
import { silentLog as log } from '#core/log.ts';
import type { Faults } from '#simulation/faults.ts';
import type { Strip } from '#simulation/guards.ts';
import type { Random } from '#simulation/random.ts';
import type { Process, Timeline } from '#simulation/timeline.ts';
import type { Violate } from '#simulation/violation.ts';
import type { SimulatedIot } from './aws/iot.ts';
import { diskFiles } from './disk-files.ts';
import {
  boardAddress,
  boardDriver,
  boardFiles,
  createBoard,
  startBoard,
} from './drivers/board-driver.ts';
import { cardDriver } from './drivers/card-driver.ts';
import { poolDriver } from './drivers/pool-driver.ts';
import { fpgaDriver, gpuDriver, nicDriver } from './drivers/usual-drivers.ts';
import {
  type Extra,
  foreignMdev,
  fpgaAddress,
  gpuAddress,
  type Hardware,
  nicAddress,
} from './hardware.ts';
import { type Image, sha256Of } from './openstack/openstack.ts';

export interface Host {
  readonly name: string;
  readonly hardware: Hardware;
  /** Mdevs of another program; the agent must never remove them. */
  readonly foreignMdevs: Set<string>;
  isUp: boolean;
  /** Kills the agent; its supervisor restarts it. */
  killAgent(): void;
  /** Shuts the host down for this time, and starts it with another boot id. */
  reboot(downMs: number): void;
  /** How far the clock of the host is off. */
  clockOffsetMs: number;
  bootId(): string;
  bootedAtMs: number;
  /** Starts the image of the host on a second machine with such a GPU, for this time. */
  clone(forMs: number): void;
}

export interface HostParts {
  readonly name: string;
  readonly stage: string;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly faults: Faults;
  readonly iot: SimulatedIot;
  readonly images: readonly Image[];
  readonly handles: { readonly nic: number; readonly gpu: number; readonly fpga: number };
  /** Whether the host has a slot for a card that moves. */
  readonly hasSlot: boolean;
  /** Whether the host has a device with a component. */
  readonly extra: Extra | undefined;
  readonly spawn: (name: string) => Process;
  readonly violate: Violate;
  readonly strip: Strip;
}

/** How long the supervisor waits before it restarts the agent. */
const restartMs = 2000;
/** AWS IoT disconnects a silent client after 1.5 times its keep-alive. */
const keepAliveTimeoutMs = 45_000;

export function createHost(parts: HostParts): Host {
  const { name, timeline, random, iot } = parts;
  const files = new Map<string, string>();
  const foreignMdevs = new Set([random.uuid()]);
  const hardware: Hardware = {
    mdevs: new Map(),
    image: undefined,
    regionUsers: new Set(),
    present: new Set([gpuAddress, fpgaAddress, nicAddress, boardAddress]),
    imageAtBoot: 'either',
    isDiskReplaced: false,
    nic: { more: 0 },
    isBroken: false,
    unrecorded: new Set(),
    blindUntilMs: 0,
    blindAfterKillMs: 0,
    ...(parts.extra === 'board' && { board: createBoard() }),
  };
  let bootId = random.uuid();
  let agent: Process | undefined;

  function boot(): void {
    bootId = random.uuid();
    hardware.mdevs.clear();
    hardware.regionUsers.clear();
    if (hardware.board) startBoard(hardware.board);
    for (const uuid of foreignMdevs) hardware.mdevs.set(uuid, foreignMdev(uuid));
    const isLost = hardware.imageAtBoot === 'either' && random.chance(0.7);
    if (isLost || hardware.imageAtBoot === 'lost') hardware.image = undefined;
    const isFirstBoot = files.size === 0;
    if (hardware.isDiskReplaced || (!isFirstBoot && parts.faults.happens('state files lost')))
      files.clear();
    hardware.isDiskReplaced = false;
    Object.assign(host, { isUp: true, bootedAtMs: timeline.now() });
    startAgent();
  }

  function run(process: Process, on: Hardware, disk: Map<string, string>, boot: string): void {
    runHostAgent(process, host, on, disk, boot, parts).catch(() => timeline.kill(process));
  }

  function startAgent(): void {
    if (!host.isUp) return;
    const process = parts.spawn(`agent ${name}`);
    agent = process;
    process.onDeath = () => {
      hardware.blindUntilMs = timeline.now() + hardware.blindAfterKillMs;
      iot.drop(thingName(parts.stage, name), keepAliveTimeoutMs);
      timeline.at(timeline.now() + restartMs, () => {
        if (host.isUp && agent === process) startAgent();
      });
    };
    run(process, hardware, files, bootId);
  }

  const host: Host = {
    name,
    hardware,
    foreignMdevs,
    isUp: false,
    clockOffsetMs: 0,
    bootId: () => bootId,
    bootedAtMs: 0,
    clone: (forMs) => {
      const process = parts.spawn(`agent clone of ${name}`);
      const other: Hardware = { ...hardware, mdevs: new Map(), regionUsers: new Set() };
      run(process, other, new Map(files), random.uuid());
      timeline.at(timeline.now() + forMs, () => {
        timeline.kill(process);
        iot.drop(thingName(parts.stage, name), keepAliveTimeoutMs);
      });
    },
    killAgent: () => agent && timeline.kill(agent),
    reboot: (downMs) => {
      host.isUp = false;
      if (agent) timeline.kill(agent);
      timeline.at(timeline.now() + downMs, () => {
        if (!host.isUp) boot();
      });
    },
  };
  timeline.at(timeline.now() + random.between(0, 3000), boot);
  return host;
}

async function runHostAgent(
  process: Process,
  host: Host,
  hardware: Hardware,
  disk: Map<string, string>,
  bootId: string,
  parts: HostParts,
): Promise<void> {
  const { timeline, random, iot, stage, strip } = parts;
  const thing = thingName(stage, parts.name);
  const startedMs = timeline.now();
  const clock: Clock = {
    monotonicMs: () => timeline.now() - startedMs,
    wallMs: () => timeline.now() + host.clockOffsetMs,
    sleep: (milliseconds, signal) => timeline.sleep(process, milliseconds, signal),
  };
  const files = diskFiles(process, disk, hardware, parts);
  const makers = [nicDriver, gpuDriver, fpgaDriver];
  if (parts.hasSlot) makers.push(cardDriver);
  if (parts.extra === 'board') makers.push(boardDriver);
  if (parts.extra === 'pool') makers.push(poolDriver);
  const drivers = makers.map((make) => make(process, hardware, parts));
  const looks = createRediscoverRequests();
  const stop = new AbortController().signal;
  const checkpoint = strip.checkpoint(await openCheckpoint({ files, bootId, log }));
  const components = await openComponentRecords(boardFiles(files, parts), log);
  const shared = { stage, thing, bootId, drivers, looks, random: random.next, clock, log };
  const jobs = createJobRunner({
    ...shared,
    stop,
    checkpoint,
    components,
    downloads: {
      withImage: async (image, _stop, use) =>
        use(
          await timeline.effect(process, 'S3 GET', () => {
            const stored = parts.images.find(({ id }) => sha256Of(id) === image.sha256);
            if (!stored) throw new Error('no such image');
            return stored.id;
          }),
        ),
    },
  });
  const deps: AgentDeps = {
    ...shared,
    jobs,
    intervalSeconds: 60,
    failureDomain: 'rack-1',
    discover: createDiscovery({ drivers, components, clock, log }),
    sequence: await openSequence({ files, bootId, wallMs: clock.wallMs, log }),
    openSession: async () => {
      const session = await iot.connect(process, thing);
      if (!strip.isStripped('agent refuses another boot')) return session;
      const asOfNow = (payload: Buffer) =>
        Buffer.from(payload.toString().replaceAll(/("boot_id": ?")[^"]+/g, `$1${bootId}`));
      return {
        ...session,
        onMessage: (listener) =>
          session.onMessage((topic, payload) => listener(topic, asOfNow(payload))),
      };
    },
  };
  await recoverHandles({ checkpoint, drivers, log });
  await runAgent(deps, stop);
}

export type MakeDriver = (process: Process, hardware: Hardware, parts: HostParts) => Driver;
