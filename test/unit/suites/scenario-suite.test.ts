import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const script = join(import.meta.dirname, 'unsteady-suite.ts');

function playSuite(...options: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'cyborg-suite-'));
  const command = [script, folder, ...options];
  const { status, stdout } = spawnSync(process.execPath, command, { encoding: 'utf8' });
  return { status, lines: stdout.trim().split('\n') };
}

describe('a scenario that fails once', () => {
  it('fails a suite that is not asked to play it again', () => {
    const { status, lines } = playSuite();
    expect(status).toBe(1);
    expect(lines.at(-1)).toBe('1 passed, 1 failed');
  });

  it('is played again, alone, and printed as UNSTEADY with its first failure', () => {
    const { status, lines } = playSuite('--again');
    expect(status).toBe(0);
    expect(lines.slice(-4)).toEqual([
      'Played once more, alone: a server boots',
      'ok       0.0 s  a server boots',
      '1 passed, 0 failed',
      'UNSTEADY  a server boots: Timed out.',
    ]);
  });

  it('fails the suite if it fails again', () => {
    const { status, lines } = playSuite('--again', '--never');
    expect(status).toBe(1);
    expect(lines.at(-1)).toBe('0 passed, 2 failed');
    expect(lines.join(' ')).not.toContain('UNSTEADY');
  });
});
