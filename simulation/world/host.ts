// A simulated compute node: devices, disk, and the agent's real code above drivers and files.

import { type AgentDeps, runAgent } from '#agent/agent.ts';
import type { Clock } from '#agent/clock.ts';
import type { Driver, HandleWork } from '#agent/drivers/contract/driver.ts';
import { recoverHandles } from '#agent/handles/recover-handles.ts';
import { createJobRunner } from '#agent/handles/run-jobs.ts';
import { ImageRefused } from '#agent/images/image-check.ts';
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
import { described, describedRegion, discoveryOf, pciHandles } from './described.ts';
import { diskFiles } from './disk-files.ts';
import {
  type Board,
  boardAddress,
  boardDriver,
  boardFiles,
  createBoard,
  startBoard,
} from './drivers/board-driver.ts';
import { type Card, cardDriver } from './drivers/card-driver.ts';
import { poolDriver } from './drivers/pool-driver.ts';
import type { SimulatedIot } from './iot.ts';
import type { Server } from './openstack/nova.ts';
import { type Image, sha256Of } from './openstack/openstack.ts';

export const gpuAddress = '0000:0e:00.0';
export const fpgaAddress = '0000:0d:00.0';
export const nicAddress = '0000:0c:00.0';
/** Present only where an operation plugs it in: a second region of the FPGA. */
export const secondRegion = 'region1';
export const mdevType = 'sim-1';
export const regionInterface = '69528db6-eb31-577a-8c36-68f9faa081f6';

export interface Mdev {
  readonly address: string;
  readonly type: string;
  readonly uuid: string;
}

/** The state of the hardware; it survives the agent. */
export interface Hardware {
  /** Keys are uuids. `usedBy` is the server that used the mdev: no other server may get it. */
  readonly mdevs: Map<string, Mdev & { usedBy?: string }>;
  /** Image in the FPGA's region. */
  image: string | undefined;
  /** Servers that use a handle of the region. */
  readonly regionUsers: Set<Server>;
  /** Devices that are plugged in. */
  readonly present: Set<string>;
  /** A card that moves between hosts; it has a slot of its own. */
  card?: Card | undefined;
  /** A device with a component that is programmed; only in operations about it. */
  board?: Board | undefined;
  /** Whether the region holds its image after a reboot. */
  imageAtBoot: 'kept' | 'lost' | 'either';
  /** The next boot finds no state files of the agent. */
  isDiskReplaced: boolean;
  /** Handles of the NIC beyond the usual ones, and how long the host cleans each of all. */
  readonly nic: { more: number; cleanSeconds?: number };
  /** Every request to the devices fails. */
  isBroken: boolean;
  /** Mdevs whose removal the agent has not stored yet. */
  readonly unrecorded: Set<string>;
  /** Reads of the GPU fail until the first, and for the second after each kill of the agent. */
  blindUntilMs: number;
  blindAfterKillMs: number;
}

/** What a host has in operations about it only: a device with a component, or a pool. */
export type Extra = 'board' | 'pool';

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

export function foreignMdev(uuid: string): Mdev {
  return { address: gpuAddress, type: mdevType, uuid };
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
const nicDriver: MakeDriver = (process, hardware, { timeline, handles }) => ({
  name: 'sim_nic',
  discover: () =>
    timeline.effect(process, 'device read', () =>
      discoveryOf(hardware, nicAddress, {
        ...described(nicAddress, 'sim_nic', 'NIC', '0x15b3'),
        offers: {
          resource_class: 'CUSTOM_NIC',
          traits: ['CUSTOM_SIM_NIC'],
          attach_handles: pciHandles(handles.nic + hardware.nic.more, '0c', hardware.nic),
        },
      }),
    ),
});

const gpuDriver: MakeDriver = (process, hardware, { timeline, faults, handles }) => {
  const look = <T>(read: () => T) =>
    timeline.effect(process, 'device read', () => {
      const isBlind = timeline.now() < hardware.blindUntilMs;
      if (isBlind || faults.happens('device cannot be read')) throw new Error('EIO');
      return read();
    });
  const driver: Driver = {
    name: 'sim_gpu',
    discover: () =>
      look(() =>
        discoveryOf(hardware, gpuAddress, {
          ...described(gpuAddress, 'sim_gpu', 'GPU', '0x10de'),
          offers: {
            resource_class: 'VGPU',
            traits: ['CUSTOM_SIM_GPU'],
            attach_handles: Array.from({ length: handles.gpu }, (_, index) => ({
              type: 'MDEV' as const,
              info: { domain: '0000', bus: '0e', asked_type: mdevType, vgpu_mark: `${index}` },
              prepare: 'at-bind' as const,
              clean_seconds: 300,
            })),
          },
        }),
      ),
    find: (handle) =>
      look(() => {
        const mdev = hardware.mdevs.get(handle.uuid);
        if (!mdev) return { state: 'absent' };
        const isSame = mdev.type === mdevOf(handle).type && mdev.address === handle.address;
        return isSame ? { state: 'ready' } : { state: 'other', what: `type ${mdev.type}` };
      }),
    prepare: (handle) =>
      timeline.effect(process, 'device mdev create', () => {
        const mdev = mdevOf(handle);
        if (!hardware.present.has(gpuAddress)) throw new Error('ENODEV');
        if (hardware.isBroken || faults.happens('device refuses')) throw new Error('EIO');
        if (hardware.mdevs.has(mdev.uuid)) throw new Error('EEXIST');
        // The GPU has room for one mdev more than handles: the foreign one.
        if (hardware.mdevs.size > handles.gpu) throw new Error('ENOSPC');
        hardware.mdevs.set(mdev.uuid, mdev);
        return {};
      }),
    clean: ({ uuid }) =>
      timeline.effect(process, 'device mdev remove', () => {
        if (hardware.isBroken || faults.happens('device refuses')) throw new Error('EBUSY');
        if (!hardware.mdevs.delete(uuid)) throw new Error('ENODEV');
        hardware.unrecorded.add(uuid);
        return { removed: uuid };
      }),
  };
  return driver;
};

const fpgaDriver: MakeDriver = (process, hardware, parts) => {
  const { timeline, faults, handles, images, violate, strip } = parts;
  const driver: Driver = {
    name: 'sim_fpga',
    discover: () =>
      timeline.effect(process, 'device read', () => {
        const image = images.find(({ id }) => id === hardware.image);
        return discoveryOf(hardware, fpgaAddress, {
          ...described(fpgaAddress, 'sim_fpga', 'FPGA', '0x8086'),
          regions: [
            {
              name: 'region0',
              kind: 'reconfigurable-region',
              resource_class: 'FPGA',
              traits: ['CUSTOM_SIM_FPGA'],
              'region-type-uuid': regionInterface,
              ...(image && { 'bitstream-id': image.id, 'function-uuid': image.functionUuid }),
              attach_handles: pciHandles(handles.fpga, '0d'),
            },
            ...(hardware.present.has(secondRegion) ? [describedRegion(secondRegion, '0f')] : []),
          ],
        });
      }),
    images: {
      check: async (imagePath, interfaceUuid) => {
        const image = images.find(({ id }) => id === imagePath);
        const isWrong = image?.interfaceUuid !== interfaceUuid;
        if (isWrong && !strip.isStripped('agent checks images'))
          throw new ImageRefused('for another interface');
      },
      write: ({ imageId, imagePath }) =>
        timeline.effect(process, 'device program', () => {
          const image = images.find(({ id }) => id === imagePath);
          if (image?.interfaceUuid !== regionInterface)
            violate('I9', `image ${imageId} was written without a check`);
          for (const { uuid, status, hasLostArqs } of hardware.regionUsers) {
            if (status === 'ACTIVE' && !hasLostArqs)
              violate('I9', `image ${imageId} is written while server ${uuid} uses the region`);
          }
          // An interrupted write leaves no valid image.
          hardware.image = undefined;
          if (hardware.isBroken || faults.happens('device refuses')) throw new Error('EIO');
          hardware.image = imageId;
        }),
    },
  };
  return driver;
};

function mdevOf({ address, uuid, info }: HandleWork): Mdev {
  return { address, type: info.asked_type ?? '', uuid };
}
