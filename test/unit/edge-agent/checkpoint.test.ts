import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openCheckpoint } from '#agent/state/checkpoint.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { silentLog } from '#test/support/hosts/agent.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const directory = directoryPerTest();
const open = (given: { bootId?: string; directory?: string } = {}) =>
  openCheckpoint({
    files: openStateFiles(given.directory ?? directory),
    bootId: given.bootId ?? 'boot-1',
    log: silentLog,
  });

const place = { driver: 'fake_gpu', address: '0000:0e:00.0' };
const mark = { ...place, type: 'MDEV' as const, info: { asked_type: 'fake-1' }, epoch: 1 };
const confirmed = { ...mark, is_confirmed: true };
const unconfirmed = { ...mark, is_confirmed: false };
const making = { kind: 'prepare', ...place, uuid: 'uuid-1', epoch: '1' };
const removing = { ...making, kind: 'clean', epoch: '2' };

describe('after a crash', () => {
  it('a claim is known, and that what it prepares is ours', async () => {
    await (await open()).claim('job', '1', making, mark);
    const after = await open();
    expect(after.job('job', '1')).toMatchObject({
      claim: { step: 0, intent: making },
      results: [],
    });
    expect(after.prepared('uuid-1')).toEqual(unconfirmed);
  });

  it('results and the outcome are known', async () => {
    const before = await open();
    await before.claim('job', '1', making, mark);
    await before.record('job', '1', { step: 'a' });
    await before.finish('job', '1', { status: 'FAILED', reason: 'why' });
    expect((await open()).job('job', '1')).toEqual({
      execution: '1',
      results: [{ step: 'a' }],
      outcome: { status: 'FAILED', reason: 'why' },
    });
  });

  it('released binds are known', async () => {
    await (await open()).release(['bind-1'], []);
    const after = await open();
    expect([after.isReleased('bind-1'), after.isReleased('bind-2')]).toEqual([true, false]);
  });

  it('claims from before the last release of their handle are known', async () => {
    const before = await open();
    await before.release([], [{ uuid: 'handle', epoch: 7 }]);
    await before.release([], [{ uuid: 'handle', epoch: 5 }]);
    const after = await open();
    const isOver = (uuid: string, epoch: number) => after.isClaimOver({ uuid, epoch });
    expect([isOver('handle', 6), isOver('handle', 7), isOver('other', 1)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('another execution of a job is another entry', async () => {
    const before = await open();
    await before.finish('job', '1', { status: 'SUCCEEDED' });
    expect((await open()).job('job', '2')).toBeUndefined();
  });
});

describe('a prepared handle', () => {
  it('is ours until its cleaning is stored', async () => {
    const checkpoint = await open();
    await checkpoint.claim('job', '1', making, mark);
    await checkpoint.record('job', '1', { step: 'a' });
    await checkpoint.claim('job-2', '1', removing);
    await checkpoint.record('job-2', '1', { step: 'a', failed: 'EBUSY' });
    expect(checkpoint.prepared('uuid-1')).toEqual(unconfirmed);
    await checkpoint.claim('job-2', '1', removing);
    await checkpoint.record('job-2', '1', { step: 'a' });
    expect((await open()).prepared('uuid-1')).toBeUndefined();
  });

  it('stays ours when its step fails', async () => {
    const checkpoint = await open();
    await checkpoint.claim('job', '1', making, mark);
    await checkpoint.record('job', '1', { step: 'a', failed: 'EIO' });
    expect((await open()).prepared('uuid-1')).toEqual(unconfirmed);
  });

  it('is no longer ours once a check has shown that it does not exist', async () => {
    const checkpoint = await open();
    await checkpoint.claim('job', '1', making, mark);
    await checkpoint.record('job', '1', { step: 'a', failed: 'ENOSPC' }, 'absent');
    expect((await open()).prepared('uuid-1')).toBeUndefined();
  });
});

describe('the checkpoint', () => {
  it('is empty after a boot', async () => {
    await (await open()).claim('job', '1', making, mark);
    const after = await open({ bootId: 'boot-2' });
    expect([after.job('job', '1'), after.prepared('uuid-1')]).toEqual([undefined, undefined]);
  });

  it('keeps what an earlier boot had prepared as lost, until it is prepared again', async () => {
    const before = await open();
    await before.claim('job', '1', making, mark);
    await before.record('job', '1', { step: 'a' });
    await open({ bootId: 'boot-2' });
    const later = await open({ bootId: 'boot-3' });
    expect(later.lost()).toEqual({ 'uuid-1': confirmed });
    await later.recover('uuid-1', confirmed);
    const after = await open({ bootId: 'boot-3' });
    expect([after.lost(), after.prepared('uuid-1')]).toEqual([{}, confirmed]);
  });

  it('does not keep what may not have been prepared, or may have been cleaned', async () => {
    const checkpoint = await open();
    await checkpoint.claim('job', '1', making, mark);
    expect((await open({ bootId: 'boot-2' })).lost()).toEqual({});
    await checkpoint.record('job', '1', { step: 'a' });
    await checkpoint.claim('job-2', '1', removing);
    expect((await open({ bootId: 'boot-2' })).lost()).toEqual({});
  });

  it('keeps the last cleaning of each handle over boots', async () => {
    const checkpoint = await open();
    await checkpoint.claim('job', '1', removing);
    await checkpoint.record('job', '1', { step: 'a', evidence: { method: 'flr' } });
    expect((await open({ bootId: 'boot-2' })).cleaned('uuid-1')).toEqual({
      epoch: 2,
      evidence: { method: 'flr' },
    });
  });

  const newer = JSON.stringify({ version: 3, boot_id: 'boot-1', marks: [] });
  it.each(['', '{"version":2,"jo', '[]', '\0', newer])(
    'that this version cannot read is renamed and kept: %j',
    async (text) => {
      for (const number of [1, 2]) {
        writeFileSync(join(directory, 'jobs.json'), text);
        const checkpoint = await open();
        await checkpoint.finish('job', '1', { status: 'SUCCEEDED' });
        expect((await open()).job('job', '1')?.outcome).toEqual({ status: 'SUCCEEDED' });
        expect(readFileSync(join(directory, `jobs.json.kept-${number}`), 'utf8')).toBe(text);
      }
    },
  );

  it('is not opened while its file can neither be read nor renamed', async () => {
    mkdirSync(join(directory, 'jobs.json'));
    await expect(open()).rejects.toThrow(/EISDIR/);
  });

  it('is bounded, and drops the oldest ended entries first', async () => {
    const checkpoint = await open();
    await checkpoint.claim('unfinished', '1', making, mark);
    const ended = Array.from({ length: 300 }, (_, index) => `job-${index}`);
    for (const jobId of ended) await checkpoint.finish(jobId, '1', { status: 'SUCCEEDED' });
    const { jobs } = JSON.parse(readFileSync(join(directory, 'jobs.json'), 'utf8'));
    expect(Object.keys(jobs)).toEqual(['unfinished', ...ended.slice(-255)]);
  });

  it('holds everything that was stored concurrently', async () => {
    const checkpoint = await open();
    const ids = Array.from({ length: 20 }, (_, index) => `job-${index}`);
    await Promise.all(ids.map((id) => checkpoint.finish(id, '1', { status: 'SUCCEEDED' })));
    const after = await open();
    expect(ids.filter((id) => !after.job(id, '1'))).toEqual([]);
    expect(readdirSync(directory)).toEqual(['jobs.json']);
  });

  it('does not change if it cannot be stored', async () => {
    const checkpoint = await open({ directory: join(directory, 'below') });
    writeFileSync(join(directory, 'below'), '');
    await expect(checkpoint.claim('job', '1', making, mark)).rejects.toThrow();
    expect([checkpoint.job('job', '1'), checkpoint.prepared('uuid-1')]).toEqual([
      undefined,
      undefined,
    ]);
  });
});
