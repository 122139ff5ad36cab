// A cleaning that a gate follows: what is recorded, repeated after a crash, and answered.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { toStatusDetails } from '#agent/broker/job-execution.ts';
import { systemClock } from '#agent/clock.ts';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import { runSteps } from '#agent/handles/run-steps.ts';
import { startChild } from '#agent/hardware/watched-child.ts';
import { type Checkpoint, openCheckpoint } from '#agent/state/checkpoint.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { type CleanStep, readEvidence } from '#core/contracts/jobs/job-document.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perTest } from '#test/support/vitest/shared.ts';
import { address, aGateHost, card, handle, sleeping, startAndDie, uuid } from './gate-host.ts';

const host = perTest(aGateHost);

describe('a cleaning with a gate', () => {
  let checkpoint: Checkpoint;
  let cleaned: number;
  const files = () => openStateFiles(join(host.directory, 'state'));
  const step = (epoch = 2): CleanStep => ({
    kind: 'clean',
    driver: 'cards',
    address,
    handle: { uuid, ...handle, epoch },
  });

  beforeEach(async () => {
    cleaned = 0;
    checkpoint = await openCheckpoint({ files: files(), bootId: 'boot', log: host.log });
  });

  /** One line for each run of the gate. */
  const runs = () => readFileSync(join(host.directory, 'runs'), 'utf8').trim().split('\n').length;
  const counted = (...lines: readonly string[]) =>
    host.write(`echo run >> ${host.directory}/runs`, ...lines);

  function clean(
    driver: Partial<Driver> & { readonly seconds?: number },
    jobId: string,
    steps = [step()],
    start = startChild,
  ) {
    const { seconds, ...given } = driver;
    const cards: Driver = {
      name: 'cards',
      discover: async () => ({ devices: { [address]: card(seconds) } }),
      ...given,
    };
    const deps = {
      drivers: [cards],
      gates: host.gatesOf({ cards: {} }, start),
      clock: systemClock,
      log: host.log,
    };
    const job = { action: 'release', steps, bindId: undefined } as never;
    const [stop, onProgress] = [new AbortController().signal, () => {}];
    return runSteps({ ...deps, checkpoint } as never, {
      jobId,
      execution: '1',
      job,
      stop,
      onProgress,
    });
  }
  const cleaning: Partial<Driver> & { seconds: number } = {
    seconds: 150,
    clean: async () => {
      cleaned += 1;
      return { cleaned_by: 'reset' };
    },
  };

  it('has the evidence of both', async () => {
    counted('echo fine');
    expect(await clean(cleaning, 'job')).toMatchObject({
      status: 'SUCCEEDED',
      evidence: { [uuid]: { cleaned_by: 'reset', gate_exit_code: 0, gate_output: 'fine' } },
    });
  });

  it('is judged where its driver cleans nothing', async () => {
    counted('exit 0');
    expect(await clean({}, 'job')).toMatchObject({ evidence: { [uuid]: { gate: 'gate' } } });
    counted('exit 1');
    expect(await clean({}, 'next', [step(3)])).toMatchObject({ status: 'FAILED' });
  });

  it('is not judged if the driver could not clean', async () => {
    counted('exit 0');
    const failing = { ...cleaning, clean: async () => Promise.reject(new Error('EIO')) };
    expect(await clean(failing, 'job')).toMatchObject({ status: 'FAILED' });
    expect(runs).toThrow('ENOENT');
  });

  it('that failed begins with the cleaning again, and once it has passed nothing is repeated', async () => {
    counted('exit 1');
    expect(await clean(cleaning, 'job')).toMatchObject({
      status: 'FAILED',
      reason: expect.stringContaining('The gate gate ended with exit code 1'),
    });
    counted('exit 0');
    const passed = await clean(cleaning, 'retry');
    expect([passed.status, cleaned, runs()]).toEqual(['SUCCEEDED', 2, 2]);
    expect((await clean(cleaning, 'again')).evidence).toEqual(passed.evidence);
    expect([cleaned, runs()]).toEqual([2, 2]);
  });

  it('runs again after the agent was killed while the gate ran', async () => {
    counted(`test -e ${host.directory}/second || exec ${sleeping}`);
    const ofFirst = files();
    let isKilled = false;
    const replace: typeof ofFirst.replace = (...args) =>
      isKilled ? new Promise(() => {}) : ofFirst.replace(...args);
    checkpoint = await openCheckpoint({
      files: { ...ofFirst, replace },
      bootId: 'boot',
      log: host.log,
    });
    clean(cleaning, 'job', [step()], startAndDie);
    await eventually(() => runs()).toBe(1);
    isKilled = true;
    checkpoint = await openCheckpoint({ files: files(), bootId: 'boot', log: host.log });
    writeFileSync(join(host.directory, 'second'), '');
    expect(await clean(cleaning, 'job')).toMatchObject({ status: 'SUCCEEDED' });
    expect([cleaned, runs()]).toEqual([2, 2]);
  });

  it('of an object that is gone is judged all the same', async () => {
    counted('exit 1');
    const gone = { ...cleaning, find: async () => ({ state: 'absent' }) as const };
    expect(await clean(gone, 'job')).toMatchObject({ status: 'FAILED' });
    counted('exit 0');
    expect(await clean(gone, 'retry')).toMatchObject({ status: 'SUCCEEDED' });
    expect(runs()).toBe(2);
  });

  it('that is late touches nothing of the next holder', async () => {
    counted('exit 0');
    const mark = { driver: 'cards', address, ...handle, epoch: 4 };
    await checkpoint.claim('bind', '1', { kind: 'prepare', uuid }, mark);
    const ready = { ...cleaning, find: async () => ({ state: 'ready' }) as const };
    expect(await clean(ready, 'late')).toEqual({ status: 'SUCCEEDED' });
    expect(runs).toThrow('ENOENT');
  });

  it('of eight cards has all its evidence in the answer', () => {
    const facts = {
      cleaned_by: 'reset',
      gate_output: 'x'.repeat(200),
      gate_sha256: 'f'.repeat(64),
    };
    const entries = Array.from({ length: 8 }, (_, index) => [
      `${uuid.slice(0, -1)}${index}`,
      facts,
    ]);
    const evidence = Object.fromEntries(entries);
    const details = toStatusDetails({ status: 'SUCCEEDED', evidence });
    expect(Object.keys(details).length).toBeLessThanOrEqual(10);
    for (const text of Object.values(details)) expect(text.length).toBeLessThanOrEqual(1024);
    expect(readEvidence(details)).toEqual(evidence);
    expect(readEvidence({ evidence: '{', evidence_2: '[1]' })).toEqual({});
  });
});
