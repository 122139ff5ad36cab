import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFailedPreparations } from '#agent/handles/failed-preparations.ts';
import { createDiscovery } from '#agent/report/discover.ts';
import { confirmAddress, openConfirmations } from '#agent/state/confirmations.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { aClock, aDriver, aReportedDevice, silentLog } from '#test/support/hosts/agent.ts';
import {
  aJobHost,
  create,
  document,
  eventually,
  gpu,
  secondGpu,
  uuid,
} from '#test/support/hosts/job-host.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const directory = directoryPerTest();
const files = () => openStateFiles(join(directory, 'state'));
// https://github.com/harvester/harvester/issues/4953: the device stayed allocatable.
const denied = new Error('write /sys/bus/pci/drivers/vfio-pci/bind: device or resource busy');

async function aHost() {
  const clock = aClock();
  const failures = createFailedPreparations(
    clock,
    openConfirmations(files(), silentLog),
    silentLog,
  );
  const host = await aJobHost(directory, { failures });
  host.connect();
  let fails = false;
  host.gpus.hooks.beforeCreate = async () => {
    if (fails) throw denied;
  };
  let servers = 0;
  const described = { [gpu]: aReportedDevice({ address: gpu }) };
  return {
    clock,
    describe: (given: object) => Object.assign(described[gpu] ?? {}, given),
    /** Boots servers on a GPU, one after another. */
    async boot(outcomes: string, address = gpu) {
      for (const outcome of outcomes) {
        servers += 1;
        fails = outcome === 'x';
        const steps = [create(servers, { address })];
        const bind_id = uuid(1_000 + servers);
        const jobId = await host.service.create(document('prepare', { steps, bind_id }));
        await eventually(() => host.service.job(jobId).status).toBe(fails ? 'FAILED' : 'SUCCEEDED');
      }
    },
    /** The health of the first GPU in a report. */
    async health() {
      const drivers = [aDriver('gpus', ...Object.values(described))];
      const discover = createDiscovery({ drivers, faults: [failures], clock, log: silentLog });
      return (await discover()).devices[0]?.device.health;
    },
  };
}

const withheld = {
  state: 'unhealthy',
  reason: `could not be made ready for 3 servers in a row: ${denied.message}`,
  next_step: expect.stringContaining(`cyborg-agent confirm ${gpu}`),
};

describe('a device that cannot be made ready', () => {
  it('is unhealthy after three failures in a row, and no other device is', async () => {
    const { boot, health } = await aHost();
    await boot('xx');
    await boot('xx', secondGpu);
    expect(await health()).toBeUndefined();
    await boot('x');
    expect(await health()).toMatchObject(withheld);
    expect(await health()).toMatchObject(withheld);
  });

  it.each([
    ['a success between', 'xx.xx'],
    ['a success after them', 'xxx.'],
  ])('is healthy with %s', async (_what, outcomes) => {
    const { boot, health } = await aHost();
    await boot(outcomes);
    expect(await health()).toBeUndefined();
  });

  it('is healthy if the failures are more than an hour apart', async () => {
    const { boot, health, clock } = await aHost();
    await boot('xx');
    await clock.advance(61 * 60_000);
    await boot('xx');
    expect(await health()).toBeUndefined();
    await boot('x');
    await clock.advance(24 * 60 * 60_000);
    expect(await health()).toMatchObject(withheld);
  });

  it('is healthy once an operator has confirmed it after the last failure', async () => {
    const { boot, health, clock } = await aHost();
    const confirm = () => {
      const at = new Date(clock.wallMs()).toISOString();
      return confirmAddress(files(), silentLog, gpu, { at, identity: '10de:2235' });
    };
    await confirm();
    await clock.advance(1_000);
    await boot('xxx');
    expect(await health()).toMatchObject(withheld);
    await confirm();
    expect(await health()).toBeUndefined();
    await boot('xx');
    expect(await health()).toBeUndefined();
  });

  it('is healthy once its driver describes it in another way', async () => {
    const { boot, health, describe: change } = await aHost();
    await boot('xxx');
    expect(await health()).toMatchObject(withheld);
    change({ health: { state: 'degraded', reason: 'is hot', since: '2026-11-01T00:00:00.000Z' } });
    expect(await health()).toMatchObject(withheld);
    change({ health: undefined, firmware: '2' });
    expect(await health()).toBeUndefined();
  });

  it('is healthy after a restart of the agent, until it fails again', async () => {
    const { boot, health } = await aHost();
    await boot('xxx');
    expect(await health()).toMatchObject(withheld);
    const restarted = await aHost();
    await restarted.boot('xx');
    expect(await restarted.health()).toBeUndefined();
  });
});
