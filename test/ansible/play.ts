// Plays a role on this machine, and tells what it changed.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const root = join(import.meta.dirname, '../..');

export interface Played {
  readonly code: number;
  readonly output: string;
  readonly changed: number;
  /** What systemctl was asked to change, in order. */
  readonly calls: readonly string[];
}

export interface Stage {
  readonly programs: string;
  readonly directory: string;
}

export async function run(
  stage: Stage,
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number; readonly output: string }> {
  const child = spawn(join(stage.programs, program), args, {
    cwd: join(root, 'ansible'),
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      PATH: [join(import.meta.dirname, 'bin'), stage.programs, process.env.PATH].join(delimiter),
      ANSIBLE_HOME: join(stage.directory, 'home'),
      ANSIBLE_CONFIG: join(root, 'ansible/ansible.cfg'),
      ANSIBLE_NOCOLOR: '1',
      NO_COLOR: '1',
      ANSIBLE_PIPELINING: '1',
      FAKE_SYSTEMD: systemdOf(stage),
      ...environment,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const code = await new Promise<number>((done, failed) => {
    child.once('error', failed);
    child.once('close', (status) => done(status ?? 1));
  });
  return { code, output };
}

const systemdOf = ({ directory }: Stage) => join(directory, 'systemd');

/** Whether the fake of systemd has the unit as active, or as enabled. */
export function unitIs(stage: Stage, word: 'active' | 'enabled'): boolean {
  return existsSync(join(systemdOf(stage), `cyborg-agent.${word}`));
}

/** @param options of ansible-playbook */
export async function play(
  stage: Stage,
  role: 'cyborg_agent' | 'cyborg_endpoint',
  variables: Readonly<Record<string, unknown>>,
  options: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<Played> {
  mkdirSync(systemdOf(stage), { recursive: true });
  const [book, given, calls] = ['play.json', 'variables.json', 'systemd/calls'].map((name) =>
    join(stage.directory, name),
  ) as [string, string, string];
  rmSync(calls, { force: true });
  const played = { hosts: 'all', connection: 'local', gather_subset: ['!all'], roles: [{ role }] };
  writeFileSync(book, JSON.stringify([played]));
  const all = { ...variables, ansible_python_interpreter: '/usr/bin/python3' };
  writeFileSync(given, JSON.stringify(all), { mode: 0o600 });
  const args = ['-i', 'cmp1.example,', '-e', `@${given}`, ...options, book];
  const { code, output } = await run(stage, 'ansible-playbook', args, environment);
  const changed = Number(/ changed=(\d+) /.exec(output)?.[1] ?? Number.NaN);
  const asked = existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : [];
  return { code, output, changed, calls: asked };
}

/** `600 root`, or `undefined` where there is no such file. */
export function modeOf(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const { mode, uid } = statSync(file);
  return `${(mode & 0o7777).toString(8)} ${uid === 0 ? 'root' : uid}`;
}
