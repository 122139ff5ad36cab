// A compute node whose agent runs jobs: two GPUs that make mdevs, and a model of AWS IoT Jobs.

import { join } from 'node:path';
import { type Clock, systemClock } from '#agent/clock.ts';
import type { Driver, HandleWork } from '#agent/drivers/contract/driver.ts';
import type { FailedPreparations } from '#agent/handles/failed-preparations.ts';
import { createJobRunner } from '#agent/handles/run-jobs.ts';
import { createDownloads } from '#agent/images/download.ts';
import { createRediscoverRequests } from '#agent/report/rediscover-requests.ts';
import { openCheckpoint } from '#agent/state/checkpoint.ts';
import { openComponentRecords } from '#agent/state/component-records.ts';
import { openStateFiles, type StateFiles } from '#agent/state/state-files.ts';
import type { CardsMessage } from '#core/contracts/jobs/work-message.ts';
import { aReportedDevice, silentLog } from './agent.ts';
import { aJobsService, thing } from './agent-session.ts';

const bootId = '6f4f1d67-52a6-4b63-9d1b-9b44b1a0d9b7';
export const gpu = '0000:0e:00.0';
export const secondGpu = '0000:0f:00.0';
export const uuid = (number: number) =>
  `91ac1606-427e-44bb-8233-${String(number).padStart(12, '0')}`;

interface Mdev {
  readonly address: string;
  readonly type: string;
  readonly uuid: string;
}

export function mdevOf({ address, uuid: handle, info }: HandleWork): Mdev {
  return { address, type: info.asked_type ?? '', uuid: handle };
}

/** A driver of two GPUs that make mdevs; a test can hold a creation. */
function aGpuDriver() {
  const mdevs: Mdev[] = [];
  const calls: string[] = [];
  const hooks = { beforeCreate: async (_mdev: Mdev) => {}, beforeLook: async () => {} };
  const found = {
    [gpu]: aReportedDevice({ address: gpu, driver: 'gpus' }),
    [secondGpu]: aReportedDevice({ address: secondGpu, driver: 'gpus' }),
  };
  const driver: Driver = {
    name: 'gpus',
    discover: async () => {
      await hooks.beforeLook();
      return { devices: found };
    },
    find: async (handle) => {
      await hooks.beforeLook();
      const there = mdevs.find((mdev) => mdev.uuid === handle.uuid);
      if (!there) return { state: 'absent' };
      const { address, type } = mdevOf(handle);
      const isSame = there.type === type && there.address === address;
      return isSame
        ? { state: 'ready' }
        : { state: 'other', what: `an mdev of type ${there.type} on ${there.address}` };
    },
    prepare: async (handle) => {
      const mdev = mdevOf(handle);
      calls.push(`create ${mdev.uuid}`);
      await hooks.beforeCreate(mdev);
      mdevs.push(mdev);
      return {};
    },
    clean: async (mdev) => {
      calls.push(`remove ${mdev.uuid}`);
      mdevs.splice(
        mdevs.findIndex((each) => each.uuid === mdev.uuid),
        1,
      );
      return { removed: mdev.uuid };
    },
  };
  return { driver, mdevs, calls, hooks };
}

const failing: Driver = { name: 'other', discover: async () => Promise.reject(new Error('EIO')) };

/** @param directory for the agent's files */
export async function aJobHost(
  directory: string,
  {
    other = failing,
    clock = systemClock,
    files = openStateFiles(join(directory, 'state')),
    gpus = aGpuDriver(),
    failures,
    onCards,
  }: {
    other?: Driver;
    clock?: Clock;
    files?: StateFiles;
    gpus?: ReturnType<typeof aGpuDriver>;
    failures?: FailedPreparations;
    onCards?: (message: CardsMessage) => void;
  } = {},
) {
  const service = aJobsService();
  const looks = createRediscoverRequests();
  const stop = new AbortController();
  const runner = createJobRunner({
    stage: 'test',
    thing,
    bootId,
    looks,
    log: silentLog,
    clock,
    random: () => 0,
    stop: stop.signal,
    ...(failures && { failures }),
    ...(onCards && { onCards }),
    drivers: [other, gpus.driver],
    checkpoint: await openCheckpoint({ files, bootId, log: silentLog }),
    components: await openComponentRecords(files, silentLog),
    downloads: createDownloads(join(directory, 'images'), silentLog),
  });
  let served: Promise<void> = Promise.resolve();
  const connect = () => {
    const session = service.connect();
    served = runner.serve(session);
    return {
      session,
      lose: async () => {
        session.lose();
        await served;
      },
    };
  };
  return { service, gpus, looks, stop, runner, connect };
}

export const document = (action: string, given: object = {}) => ({
  version: 1,
  action,
  host: 'cmp1.example',
  boot_id: bootId,
  ...(action === 'prepare' && { bind_id: uuid(99) }),
  ...given,
});
/** A step about the mdev of that number. */
export const create = (
  number: number,
  { address = gpu, epoch = 1, type = 'a', ...given }: Partial<StepOptions> = {},
) => ({
  kind: 'prepare',
  driver: 'gpus',
  address,
  handle: { uuid: uuid(number), type: 'MDEV', info: { asked_type: type }, epoch },
  ...given,
});
export const remove = (number: number, given: Partial<StepOptions> = {}) => ({
  ...create(number, { epoch: 2, ...given }),
  kind: 'clean',
});

interface StepOptions {
  readonly address: string;
  readonly epoch: number;
  readonly type: string;
  readonly bind_id: string;
}

/** A wait that a test ends. */
export function aGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
