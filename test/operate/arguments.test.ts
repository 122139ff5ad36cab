// Whoever mistypes a command is told what is wrong with it, and nothing is done.

import { expect, it } from 'vitest';
import { run } from '../agent/agent-process.ts';

const restore = ['operate/restore.ts', '--stage', 'prod', '--suffix', 'restored'] as const;
const enrol = ['operate/enrol.ts', '--stage', 'prod'] as const;

it.each([
  ['what takes nothing', ['infra/cost/main.ts', '--month'], "Unknown option '--month'."],
  ['what takes nothing', ['infra/scale/main.ts', '5'], "Unexpected argument '5'."],
  ['what takes nothing', ['local/demo/main.ts', '--slow'], "Unknown option '--slow'."],
  ['what takes nothing', ['infra/privileges/print.ts', 'x'], "Unexpected argument 'x'."],
  ['an option', ['local/main.ts', '--frseh'], "Unknown option '--frseh'."],
  ['settings', ['operate/doctor.ts'], 'CYBORG_STAGE: missing'],
  ['settings', ['operate/doctor.ts'], '--environment <file>'],
  ['a file', ['operate/doctor.ts', '--environment', 'README.md'], 'README.md must be a JSON'],
  ['hosts', ['operate/reconcile.ts'], 'Name the hosts'],
  ['a stage', ['operate/restore.ts'], '--stage is missing.'],
  ['a suffix', ['operate/restore.ts', '--stage', 'prod'], '--suffix is missing.'],
  ['a moment', [...restore], '--moment is missing.'],
  ['a moment', [...restore, '--moment', 'yesterday'], '--moment yesterday is no time'],
  ['a zone', [...restore, '--moment', '2026-07-01T12:00:00'], 'is no time with its zone'],
  ['a past', [...restore, '--moment', '2999-07-01T12:00:00Z'], 'is still to come.'],
  ['a region', [...restore, '--moment', '2026-07-01T12:00:00Z'], 'AWS_REGION is not set'],
  ['a stage', ['operate/enrol.ts', 'cmp1'], '--stage is missing.'],
  ['a value', ['operate/enrol.ts', '--stage'], "'--stage <value>' argument missing."],
  ['a host', [...enrol], 'The host is missing.'],
  ['one host', [...enrol, 'cmp1', 'cmp2'], 'One host at a time, not cmp1, cmp2.'],
  ['one verb', [...enrol, 'cmp1', '--retire', '--revoke'], '--retire and --revoke exclude'],
  ['its verb', [...enrol, 'cmp1', '--keep', 'x', '--revoke'], '--keep goes with --retire'],
  ['a stage', ['operate/enrol.ts', '--stage', 'My stage', 'cmp1'], '--stage My stage is none'],
  ['a port', [...enrol, 'cmp1', '--port', 'mqtt'], '--port mqtt is no port.'],
  ['no host', [...enrol, 'cmp1', '--list'], '--list takes no host; it was given cmp1.'],
] as const)('asks for %s: %j', async (_what, [file, ...given], sentence) => {
  const region = sentence.startsWith('AWS_REGION') ? {} : { AWS_REGION: 'us-east-1' };
  const command = run(file, { PATH: process.env.PATH ?? '', ...region }, given);
  expect(await command.exited()).toBeGreaterThan(0);
  expect(command.output()).toContain(sentence);
  expect(command.output()).not.toMatch(/\n +at /);
});
