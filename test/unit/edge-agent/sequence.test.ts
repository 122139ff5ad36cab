import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSequence } from '#agent/state/sequence.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { silentLog } from '#test/support/hosts/agent.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const directory = directoryPerTest();

/** @param seconds time of the host's clock */
function open(seconds: number, options: { bootId?: string; directory?: string } = {}) {
  return openSequence({
    files: openStateFiles(options.directory ?? directory),
    bootId: 'boot-1',
    wallMs: () => seconds * 1000,
    log: silentLog,
    ...options,
  });
}

describe('sequence numbers', () => {
  it('increase while the clock stands still', async () => {
    const sequence = await open(100);
    expect([await sequence.next(), await sequence.next()]).toEqual([1000, 1001]);
  });

  it('continue after a restart, even if the clock was set back', async () => {
    const before = await (await open(100)).next();
    const after = await (await open(50)).next();
    expect(after).toBe(before + 1);
  });

  it('are higher than before when the file is lost', async () => {
    const before = await (await open(100)).next();
    rmSync(join(directory, 'sequence.json'));
    expect(await (await open(101)).next()).toBeGreaterThan(before);
  });

  it.each(['', '{"boot_id":"boot-1","la', '{"boot_id":"boot-1","last":-1}', '[]', '\0\0\0'])(
    'are higher than before when the file holds %j',
    async (torn) => {
      const before = await (await open(100)).next();
      writeFileSync(join(directory, 'sequence.json'), torn);
      expect(await (await open(101)).next()).toBeGreaterThan(before);
    },
  );

  it('restart with each boot', async () => {
    await (await open(100)).next();
    expect(await (await open(50, { bootId: 'boot-2' })).next()).toBe(500);
  });

  it('are given even if they cannot be stored', async () => {
    writeFileSync(join(directory, 'file'), '');
    const sequence = await open(100, { directory: join(directory, 'file/below') });
    expect([await sequence.next(), await sequence.next()]).toEqual([1000, 1001]);
  });

  it('leave no temporary file behind', async () => {
    await (await open(100)).next();
    expect(readdirSync(directory)).toEqual(['sequence.json']);
  });
});
