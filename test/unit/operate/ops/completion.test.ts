// The shells offer what the table of verbs has.

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { complete } from '#operate/ops/arguments/completion.ts';
import { completionScripts } from '#operate/ops/arguments/completion-scripts.ts';
import { table } from '#operate/ops/table.ts';

const offered = (...words: string[]) => complete(words, table);

describe('after', () => {
  it.each([
    [['ho'], ['hosts', 'holds']],
    [['hos'], ['hosts']],
    [['c'], ['capacity', 'cost', 'completion']],
    [
      ['hosts', 're'],
      ['rediscover', 'resume', 'reconcile'],
    ],
    [
      ['hosts', 'list', '--state', ''],
      ['online', 'drained', 'away', 'conflict', 'never-reported'],
    ],
    [['hosts', 'list', '--state', '=', 'o'], ['online']],
    [
      ['hosts', 'list', '--state', '='],
      ['online', 'drained', 'away', 'conflict', 'never-reported'],
    ],
    [['--os-cloud', 'prod', 'dev'], ['devices']],
    [['--os-interface', 'in'], ['internal']],
    [
      ['completion', ''],
      ['bash', 'zsh'],
    ],
    [['completion', 'bash', ''], []],
    [['hosts', 'show', ''], []],
    [['hosts', 'drain', 'cmp1', '--re'], ['--reason']],
    [['hosts', 'drain', 'cmp1', '--reason', 'x', '--re'], []],
    [['enrol', 'retire', '--k'], ['--keep']],
    [
      ['doctor', '--'],
      ['--help', '--environment', '--url'],
    ],
    [['incidents', '--kind', 'h'], ['host-away']],
    [
      ['firmware', ''],
      ['list', 'baseline', 'program', 'roll'],
    ],
    [
      ['firmware', 'baseline', ''],
      ['list', 'set', 'unset'],
    ],
    [
      ['firmware', 'baseline', 'set', '8086:0b30', '--o'],
      [
        '--os-cloud',
        '--os-auth-url',
        '--os-username',
        '--os-project-name',
        '--os-project-id',
        '--os-user-domain-name',
        '--os-project-domain-name',
        '--os-region-name',
        '--os-interface',
        '--os-cacert',
      ],
    ],
    [['nope', ''], []],
  ])('%j comes %j', (words, expected) => {
    expect(offered(...words)).toEqual(expected);
  });

  it('no word come all commands', () => {
    expect(offered('')).toEqual([...new Set(table.map(({ path }) => path[0]))]);
    expect(offered()).toEqual(offered(''));
  });
});

it('bash asks the command, and offers its answer', () => {
  const directory = mkdtempSync(join(tmpdir(), 'completion-'));
  try {
    const program = join(directory, 'cyborg-ops');
    writeFileSync(program, '#!/bin/sh\nprintf "<%s>\\n" "$@"\n');
    chmodSync(program, 0o755);
    const script = `${completionScripts.bash}
      COMP_WORDS=(cyborg-ops hosts list --st) COMP_CWORD=3
      _cyborg_ops
      printf '%s\\n' "\${COMPREPLY[@]}"
      complete -p cyborg-ops`;
    const options = {
      encoding: 'utf8',
      env: { PATH: `${directory}:${process.env.PATH}` },
    } as const;
    expect(execFileSync('bash', ['-c', script], options).trim().split('\n')).toEqual([
      '<__complete>',
      '<hosts>',
      '<list>',
      '<--st>',
      'complete -o default -F _cyborg_ops cyborg-ops',
    ]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
