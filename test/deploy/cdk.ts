// The CDK's own command line against the emulator: bootstrap, synth, deploy, destroy.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { emulatorVariables } from '#test/emulators/ministack.ts';

const root = join(import.meta.dirname, '../..');
const program = join(root, 'node_modules/.bin/cdk');
const account = '000000000000';

export interface Ran {
  readonly code: number;
  readonly output: string;
}

export interface Cdk {
  bootstrap(): Promise<Ran>;
  /**
   * Synthesises into the folder, with settings as `-c name=value`.
   *
   * @param checkout of the project; this one by default
   */
  synth(
    folder: string,
    settings: Readonly<Record<string, string>>,
    checkout?: string,
  ): Promise<Ran>;
  deploy(folder: string, ...options: readonly string[]): Promise<Ran>;
  destroy(folder: string): Promise<Ran>;
  /** Ends a command that runs. */
  stop(): Promise<void>;
}

/** @param transcript file that gets each command and what it printed */
export function cdkAt(endpoint: string, transcript: string): Cdk {
  const running = new Set<ChildProcess>();
  const run = (...args: string[]) => runIn(root, ...args);
  const runIn = async (cwd: string, ...args: string[]): Promise<Ran> => {
    const env = {
      ...emulatorVariables,
      HOME: process.env.HOME,
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      AWS_ENDPOINT_URL: endpoint,
      NO_COLOR: '1',
      CI: 'true',
    };
    // In a process group of its own, which ends as a whole: a synthesis starts bundlers.
    const child = spawn(program, args, { cwd, env, detached: true });
    running.add(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    const [code] = await once(child, 'close');
    running.delete(child);
    appendFileSync(transcript, `$ cdk ${args.join(' ')}\n${output}\n`);
    return { code: code ?? 1, output };
  };
  return {
    bootstrap: () => run('bootstrap', `aws://${account}/${emulatorVariables.AWS_REGION}`),
    synth: (folder, settings, checkout = root) => {
      const context = Object.entries(settings).flatMap(([name, value]) => [
        '-c',
        `${name}=${value}`,
      ]);
      return runIn(checkout, 'synth', '--quiet', '--output', folder, ...context);
    },
    deploy: (folder, ...options) =>
      run('deploy', '--app', folder, '--require-approval', 'never', ...options),
    destroy: (folder) => run('destroy', '--app', folder, '--force'),
    stop: async () => {
      for (const { pid } of running) if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    },
  };
}

/** What it printed without its progress, for messages. */
export function lastOf({ output }: Ran): string {
  return output.trim().split('\n').slice(-12).join('\n');
}

/** The stack's outputs by name, from what `cdk deploy` printed. */
export function outputsOf({ output }: Ran): Readonly<Record<string, string>> {
  const found = output.matchAll(/^cyborg-[\w-]+\.(\w+) = (.+)$/gm);
  return Object.fromEntries([...found].map(([, name = '', value = '']) => [name, value]));
}
