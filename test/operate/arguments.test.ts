// A mistyped command names the mistake, and does nothing.

import { describe, expect, it } from 'vitest';
import { run } from '#test/agent/agent-process.ts';
import { sampleOf } from '#test/support/vitest/sample.ts';

const program = 'operate/cyborg-ops.ts';
const restore = [program, 'restore', '--stage', 'prod', '--suffix', 'restored'] as const;
const enrol = [program, 'enrol', '--stage', 'prod'] as const;
const commands = ['doctor', 'enrol', 'reconcile', 'restore', 'cost', 'scale'];

const mistakes = [
  [
    'what takes nothing',
    [program, 'cost', '--month'],
    'Unknown option --month of cost: it has none.',
  ],
  ['what takes nothing', [program, 'scale', '5'], 'Unexpected argument 5 of scale.'],
  ['what takes nothing', ['local/demo/main.ts', '--slow'], "Unknown option '--slow'."],
  ['what takes nothing', ['infra/privileges/print.ts', 'x'], "Unexpected argument 'x'."],
  ['a value', ['infra/preflight/main.ts', '-c', 'stage'], '-c stage must be <name>=<value>.'],
  ['an option', ['infra/preflight/main.ts', '--stage', 'prod'], "Unknown option '--stage'."],
  ['an option', ['local/main.ts', '--frseh'], "Unknown option '--frseh'."],
  ['settings', [program, 'doctor'], 'CYBORG_STAGE: missing'],
  ['settings', [program, 'doctor'], '--environment <file>'],
  ['a file', [program, 'doctor', '--environment', 'README.md'], 'README.md must be a JSON'],
  ['hosts', [program, 'reconcile'], 'reconcile needs <host>'],
  ['a stage', [program, 'restore'], 'restore needs --stage'],
  ['a suffix', [program, 'restore', '--stage', 'prod'], '--suffix is missing.'],
  ['a moment', [...restore], '--moment is missing.'],
  [
    'a moment',
    [...restore, '--moment', 'yesterday'],
    '--moment yesterday must be a time with its zone',
  ],
  ['a zone', [...restore, '--moment', '2026-07-01T12:00:00'], 'must be a time with its zone'],
  ['a past', [...restore, '--moment', '2999-07-01T12:00:00Z'], 'is in the future.'],
  ['a region', [...restore, '--moment', '2026-07-01T12:00:00Z'], 'AWS_REGION is not set'],
  ['a verb', [...enrol], 'The verb of enrol is missing: it must be one of add'],
  [
    'a known verb',
    [...enrol, 'delete', 'cmp1'],
    'Unknown verb delete of enrol: it must be one of add',
  ],
  ['a stage', [program, 'enrol', 'list'], 'enrol list needs --stage'],
  ['a value', [program, 'enrol', 'add', '--stage'], 'The value of --stage <stage> is missing'],
  ['a host', [...enrol, 'revoke'], 'enrol revoke needs <host>'],
  ['one host', [...enrol, 'revoke', 'cmp1', 'cmp2'], 'Unexpected argument cmp2 of enrol revoke.'],
  [
    'its verb',
    [...enrol, 'revoke', 'cmp1', '--keep', 'x'],
    'Unknown option --keep of enrol revoke',
  ],
  ['a stage', [program, 'enrol', 'list', '--stage', 'My stage'], '--stage My stage must be'],
  [
    'a port',
    [...enrol, 'rotate', 'cmp1', '--out', 'x', '--port', 'mqtt'],
    '--port mqtt must be a number',
  ],
  ['no host', [...enrol, 'list', 'cmp1'], 'Unexpected argument cmp1 of enrol list.'],
  ['no host', [...enrol, 'remove', 'cmp1', '--all'], '--all takes no host, but cmp1 was given.'],
  ['settings', [...enrol, 'add', 'cmp1', '--out', 'x'], 'enrol add needs --settings'],
  ['a folder', [...enrol, 'rotate', 'cmp1'], 'enrol rotate needs --out'],
] as const;
const programs = [
  ...commands.map((name) => [program, name]),
  ['local/main.ts'],
  ['local/demo/main.ts'],
  ['infra/preflight/main.ts'],
  ['simulation/main.ts'],
];

async function refuses(_what: string, words: readonly string[], sentence: string): Promise<void> {
  const [file = '', ...given] = words;
  const region = sentence.startsWith('AWS_REGION') ? {} : { AWS_REGION: 'us-east-1' };
  const command = run(file, { PATH: process.env.PATH ?? '', ...region }, given);
  expect(await command.exited()).toBe(2);
  expect(command.output()).toContain(sentence);
  expect(command.output()).not.toMatch(/\n +at /);
}

async function helps(file = '', ...words: readonly string[]): Promise<void> {
  const command = run(file, { PATH: process.env.PATH ?? '' }, [...words, '--help']);
  expect(await command.exited()).toBe(0);
  expect(command.output()).toMatch(/^(npm (run|start)|cyborg-ops)/);
}

describe('a sample, three mistakes and two commands', () => {
  it.each(sampleOf(mistakes, 3).sample)('asks for %s: %j', refuses);

  it.each(sampleOf(programs, 2).sample)(
    '%s %s prints its usage with --help and exits with 0',
    helps,
  );
});

describe('all other commands', { tags: ['long'] }, () => {
  it.each(sampleOf(mistakes, 3).rest)('asks for %s: %j', refuses);

  it.each(sampleOf(programs, 2).rest)('%s %s prints its usage with --help and exits with 0', helps);
});
