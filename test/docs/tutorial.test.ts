// docs/tutorial.md: its commands, one after the other in one shell beside `npm start`, print what
// the page says.
//
// @module-tag long

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '#local/ports.ts';
import { portNames } from '#local/process/layout.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/tutorial.md'), 'utf8');
const state = join(directoryPerFile(), 'state');

interface Step {
  readonly commands: string;
  /** Undefined where the page shows none. */
  readonly printed: string | undefined;
}

const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, kind, text = '']) => ({
  kind,
  text,
}));
const steps = blocks.flatMap(({ kind, text }, at): Step[] => {
  const next = blocks[at + 1];
  const printed = next?.kind === 'text' ? next.text : undefined;
  return kind === 'sh' ? [{ commands: text, printed }] : [];
});

/** Ids, times, what a clock has counted, and the order within a moment differ between runs. */
function alike(text: string): string[] {
  const moment = (line: string) => line.startsWith('TIME ');
  return (
    text
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UUID')
      .replaceAll(/\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?/g, 'TIME')
      .replaceAll(/user:[0-9a-f]+…?/g, 'USER')
      .trim()
      .split('\n')
      .map((line) => line.trim().replaceAll(/ +/g, ' '))
      .map((line, at, all) => {
        if (!moment(line)) return line;
        const first = all.findLastIndex((each, index) => index < at && !moment(each)) + 1;
        const next = all.findIndex((each, index) => index > at && !moment(each));
        const rows = all.slice(first, next < 0 ? undefined : next).sort();
        return rows[at - first] ?? line;
      })
      // Around midnight, usage has a row for each of two days.
      .filter((line, at, all) => line !== all[at - 1])
  );
}

let system: ReturnType<typeof spawn>;
let portBase: number;

beforeAll(async () => {
  portBase = (await freePort({ host: '127.0.0.1', port: 0 })) + 1;
  const words = ['local/main.ts', '--port-base', `${portBase}`, '--state', state];
  system = spawn(process.execPath, words, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    system.once('exit', () => reject(new Error(`npm start has ended:\n${output}`)));
    system.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.includes('cmp1 has FPGA, FPGA, GPU, GPU, NIC')) resolve();
    });
  });
});

afterAll(async () => {
  system.kill('SIGTERM');
  await once(system, 'exit');
});

/** The page's commands, at the ports and in the folder of this system. */
function here(commands: string): string {
  const at = (name: (typeof portNames)[number]) => `:${portBase + portNames.indexOf(name)}/`;
  return commands
    .replace(':8774/', at('nova'))
    .replace(':8666/', at('api'))
    .replaceAll('"$PWD/.local/dev/', `"${state}/`)
    .replaceAll('.local/dev/', `${state}/`)
    .replace('npx cyborg-ops', `'${process.execPath}' operate/cyborg-ops.ts`);
}

it('each command prints what the page says', async () => {
  const mark = '== end of the step';
  const script = steps.map(({ commands }) => `${here(commands)}\necho; echo '${mark}'`);
  // With a socket as its input, bash may take itself for a remote shell, and read other scripts.
  const options = ['--norc', '-euo', 'pipefail'];
  const shell = spawn('bash', [...options, '-c', script.join('\n')], { cwd: root });
  let errors = '';
  shell.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  let output = '';
  for await (const text of shell.stdout.setEncoding('utf8')) output += text;
  expect(errors).toBe('');
  const printed = output.split(`${mark}\n`).slice(0, -1);
  expect(printed).toHaveLength(steps.length);
  for (const [at, step] of steps.entries()) {
    expect(alike(printed[at] ?? ''), step.commands).toEqual(alike(step.printed ?? ''));
  }
});
