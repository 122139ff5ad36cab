// Programs of components: what the agent keeps of them, and what it does after it was killed, or
// the host lost its power, at each of their steps.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toStatusDetails } from '#agent/broker/job-execution.ts';
import { systemClock } from '#agent/clock.ts';
import type { Activation, Driver } from '#agent/drivers/contract/driver.ts';
import { runSteps } from '#agent/handles/run-steps.ts';
import { ImageRefused } from '#agent/images/image-check.ts';
import { createDiscovery } from '#agent/report/discover.ts';
import { openCheckpoint } from '#agent/state/checkpoint.ts';
import { type ComponentRecords, openComponentRecords } from '#agent/state/component-records.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import type { ComponentStep } from '#core/contracts/jobs/job-document.ts';
import { aReportedDevice, silentLog } from '#test/support/hosts/agent.ts';

const address = '0000:3b:00.0';
const sha256 = 'a'.repeat(64);
const step: ComponentStep = {
  kind: 'program',
  driver: 'cards',
  address,
  component: 'bmc',
  component_version: '2.0',
  image: { id: '5e0b3d49-2f0c-4b0b-8c0c-b0b0c0ffee00', url: 'https://s3/x', sha256, bytes: 3 },
};

class Killed extends Error {}

let directory: string;
/** The card: what it holds, runs, and how it answers. */
let card: { flash: string; runs: string; written: number };
let activation: Activation;
/** The effect, counted from 0, before which the agent dies. */
let killBefore: number | undefined;
let effects: string[];
let isRefused: boolean;
let writes: () => string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'agent-component-'));
  card = { flash: '1.0', runs: '1.0', written: 0 };
  activation = 'active';
  isRefused = false;
  writes = () => '2.0';
  killBefore = undefined;
});
afterEach(() => rmSync(directory, { recursive: true }));

function effect<T>(name: string, work: () => T): T {
  if (effects.length === killBefore) throw new Killed(name);
  effects.push(name);
  return work();
}

const driver: Driver = {
  name: 'cards',
  discover: async () => ({ devices: { [address]: aReportedDevice({ address, driver: 'cards' }) } }),
  components: {
    list: async () => [{ name: 'bmc', version: card.runs }],
    check: async () => {
      if (isRefused) throw new ImageRefused('The image is for another card.');
    },
    write: async (_image, onProgress) => {
      effect('erase', () => {
        card.flash = 'broken';
      });
      onProgress(50);
      effect('write', () => {
        card.flash = writes();
        card.written += 1;
      });
    },
    activate: async () =>
      effect('activate', () => {
        if (activation === 'active') card.runs = card.flash;
        return activation;
      }),
  },
};

/** A card that was not programmed to the end boots what its flash holds. */
function powerCycle(): void {
  card.runs = card.flash;
}

const files = () => {
  const real = openStateFiles(join(directory, 'state'));
  return {
    ...real,
    replace: (name: string, text: string) =>
      effect(`${name} stored`, () => real.replace(name, text)),
  };
};

/** An agent that has just started runs the job. */
async function run(bootId = 'boot-1', jobId = 'job-1', asked = step, records?: ComponentRecords) {
  effects = [];
  return await runSteps(
    {
      drivers: [driver],
      clock: systemClock,
      log: silentLog,
      checkpoint: await openCheckpoint({ files: files(), bootId, log: silentLog }),
      components: records ?? (await openComponentRecords(files(), silentLog)),
      downloads: { withImage: async (_image, _stop, use) => use('/image') },
    },
    {
      jobId,
      execution: '1',
      stop: new AbortController().signal,
      onProgress: () => {},
      job: { action: 'program', steps: [asked] },
    },
  );
}

async function health() {
  const components = await openComponentRecords(
    openStateFiles(join(directory, 'state')),
    silentLog,
  );
  const discover = createDiscovery({
    drivers: [driver],
    components,
    clock: systemClock,
    log: silentLog,
  });
  return (await discover()).devices[0]?.device.health;
}

it('writes, activates and reads back, and has the version as evidence', async () => {
  expect(await run()).toEqual({
    status: 'SUCCEEDED',
    evidence: { bmc: { version: '2.0', before: '1.0', sha256 } },
  });
  expect([card.runs, await health()]).toEqual(['2.0', undefined]);
});

it('is degraded while the agent works on it, so that it is offered at once afterwards', async () => {
  const records = await openComponentRecords(files(), silentLog);
  const since = '2026-07-01T01:02:03.000Z';
  const record = { sha256, version: '2.0', before: '1.0', step: 'write', since } as const;
  effects = [];
  await records.keep(address, 'bmc', record);
  expect(records.healthOf(address)).toMatchObject({ state: 'degraded' });
  expect(await health()).toMatchObject({ state: 'unhealthy' });
  await records.keep(address, 'bmc', { ...record, failed: 'EIO' });
  expect(records.healthOf(address)).toMatchObject({ state: 'unhealthy' });
});

it('reports how much is written, for as long as the agent writes', async () => {
  const records = await openComponentRecords(files(), silentLog);
  const reported = async () => {
    const parts = { drivers: [driver], components: records, clock: systemClock, log: silentLog };
    return (await createDiscovery(parts)()).devices[0]?.device.components;
  };
  let during: ReturnType<typeof reported> | undefined;
  writes = () => {
    during = reported();
    return '2.0';
  };
  expect(await reported()).toEqual([{ name: 'bmc', version: '1.0' }]);
  expect((await run('boot-1', 'job-1', step, records)).status).toBe('SUCCEEDED');
  expect(await during).toMatchObject([{ name: 'bmc', percent: 50 }]);
  expect(await reported()).toEqual([{ name: 'bmc', version: '2.0' }]);
});

it('writes nothing where the component shows the version already', async () => {
  card = { flash: '2.0', runs: '2.0', written: 0 };
  expect((await run()).status).toBe('SUCCEEDED');
  expect(card.written).toBe(0);
});

it('touches nothing for an image that the driver refuses', async () => {
  isRefused = true;
  expect(await run()).toMatchObject({ status: 'FAILED', fault: 'request' });
  expect([card.flash, await health()]).toEqual(['1.0', undefined]);
});

it('names a component that the device does not have', async () => {
  const outcome = await run('boot-1', 'job-1', { ...step, component: 'vbios' });
  expect(outcome).toMatchObject({
    fault: 'request',
    reason: expect.stringContaining('has no component vbios, but bmc'),
  });
});

it('reports the device as unhealthy with the step and the words until a program succeeds', async () => {
  writes = () => {
    throw new Error('EIO: the card refused the image (programming:hw-error)');
  };
  const outcome = await run();
  expect(outcome).toMatchObject({
    status: 'FAILED',
    reason: expect.stringContaining('write of bmc: EIO: the card refused the image'),
  });
  expect(await health()).toMatchObject({
    state: 'unhealthy',
    reason: expect.stringContaining('bmc (write) failed: EIO'),
  });
  writes = () => '2.0';
  await run('boot-1', 'job-2');
  expect(await health()).toBeUndefined();
});

it('fails when the component shows another version than its image has', async () => {
  writes = () => '1.9';
  expect(await run()).toMatchObject({
    status: 'FAILED',
    reason: expect.stringContaining('read back of bmc: it shows version 1.9, not 2.0'),
  });
  expect(await health()).toMatchObject({ state: 'unhealthy' });
});

describe('a component that runs its image after the next power cycle', () => {
  beforeEach(() => {
    activation = 'power-cycle';
  });

  it('awaits it across a warm boot, and has succeeded after it', async () => {
    const written = await run();
    expect(written.status).toBe('SUCCEEDED');
    // What the control plane gets.
    expect(toStatusDetails(written)).toEqual({
      awaits: 'power-cycle',
      evidence: JSON.stringify({ bmc: { version: '1.0', before: '1.0', sha256 } }),
    });
    expect(await health()).toMatchObject({ state: 'degraded' });
    expect(await run('boot-2', 'job-2')).toMatchObject({ awaits: 'power-cycle' });
    powerCycle();
    const after = await run('boot-3', 'job-3');
    expect([after.status, after.awaits]).toEqual(['SUCCEEDED', undefined]);
    expect([card.written, await health()]).toEqual([1, undefined]);
  });

  it('is healthy after it, also where no job asks for it any more', async () => {
    await run();
    expect(await health()).toMatchObject({
      state: 'degraded',
      reason: 'runs bmc 1.0 until the next power cycle',
    });
    powerCycle();
    expect(await health()).toBeUndefined();
  });

  it('fails when the component shows a third version after it', async () => {
    writes = () => '1.5';
    await run();
    powerCycle();
    expect(await run('boot-2', 'job-2')).toMatchObject({ status: 'FAILED' });
    expect(await health()).toMatchObject({ state: 'unhealthy' });
  });
});

describe.each(['active', 'power-cycle'] as const)('with activation %s', (kind) => {
  it.each(['the agent dies', 'the host loses its power'])('%s at each effect', async (how) => {
    activation = kind;
    let kills = 0;
    for (let at = 0; ; at++) {
      rmSync(join(directory, 'state'), { recursive: true, force: true });
      card = { flash: '1.0', runs: '1.0', written: 0 };
      killBefore = at;
      const isKilled = await run().then(
        () => effects.length <= at,
        (error: unknown) => error instanceof Killed,
      );
      const isOver = effects.length < at || (!isKilled && effects.length <= at);
      const isTouched = card.flash !== '1.0' && card.runs !== '2.0';
      // Nothing may be offered while the flash holds what is not known.
      if (isTouched && kind === 'active') {
        expect(await health(), `after ${effects.at(-1)}`).toMatchObject({ state: 'unhealthy' });
      }
      killBefore = undefined;
      const isCut = how === 'the host loses its power';
      if (isCut) powerCycle();
      const next = await run(isCut ? 'boot-2' : 'boot-1', isCut ? 'job-2' : 'job-1');
      expect(next.status, `after ${at} effects`).toBe('SUCCEEDED');
      if (next.awaits) {
        powerCycle();
        expect((await run('boot-3', 'job-3')).awaits).toBeUndefined();
      }
      expect([card.runs, await health()], `after ${at} effects`).toEqual(['2.0', undefined]);
      kills += 1;
      if (isOver || at > 40) break;
    }
    expect(kills).toBeGreaterThan(6);
  });
});
