// `npm start` from outside: a process, its output, and the processes below it.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { freePort, listen } from '#local/ports.ts';
import { portNames } from '#local/process/layout.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';

const host = '127.0.0.1';
const directory = directoryPerFile();
let portBase: number;

beforeAll(async () => {
  // The other ports of the block that this process holds.
  portBase = (await freePort({ host, port: 0 })) + 1;
});

interface StartedSystem {
  readonly process: ChildProcess;
  output(): string;
  /** Resolves when the text was printed; waits as long as the process runs. */
  untilSaid(text: string): Promise<void>;
  readonly exited: Promise<number | null>;
}

function start(...args: string[]): StartedSystem {
  const child = spawn(
    process.execPath,
    ['local/main.ts', '--port-base', `${portBase}`, '--state', join(directory, 'state'), ...args],
    // In a process group of its own, as a shell would start it.
    { stdio: ['ignore', 'pipe', 'pipe'], detached: true },
  );
  let output = '';
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      for (const listener of listeners) listener();
    });
  }
  const exited = once(child, 'close').then(([code]) => code as number | null);
  return {
    process: child,
    output: () => output,
    exited,
    untilSaid: (text) =>
      new Promise((resolve, reject) => {
        const look = () => output.includes(text) && resolve();
        listeners.add(look);
        look();
        void exited.then(() => reject(new Error(`ended before it printed "${text}":\n${output}`)));
      }),
  };
}

/** Ids of the processes of the system under test, or of those whose command line has the text. */
function processes(text = ''): number[] {
  const lines = execFileSync('ps', ['-e', '-o', 'pid=,args='], { encoding: 'utf8' });
  const own = lines.split('\n').filter((line) => line.includes(directory) && line.includes(text));
  return own.map((line) => Number.parseInt(line, 10));
}

const processesOf = (part: string) => processes(` ${part} {`);

/** Memory of the whole system, in MiB; pages that processes share are counted once (PSS). */
function memoryMiB(): number {
  const kibibytes = processes().map((id) => {
    const rollup = readFileSync(`/proc/${id}/smaps_rollup`, 'utf8');
    return Number(/^Pss: +(\d+) kB$/m.exec(rollup)?.[1]);
  });
  return kibibytes.reduce((sum, each) => sum + each, 0) / 1024;
}

it('prints its progress and the devices at each start, and ends quietly with its group', async () => {
  for (const _start of ['first', 'second']) {
    const system = start();
    await system.untilSaid('Ready after');
    await system.untilSaid('cmp1 has FPGA, FPGA, GPU, GPU, NIC');
    const said = system.output();
    const upTo = said.slice(0, said.indexOf('Ready after'));
    for (const step of ['compiling', 'dynamodb is up', 'tables and queues', 'agent-cmp1 is up']) {
      expect(upTo).toContain(step);
    }
    process.kill(-(system.process.pid ?? 0), 'SIGTERM');
    expect(await system.exited).toBe(0);
    // On a slow machine the devices come in several lists; the last one is complete.
    const afterwards = system.output().slice(system.output().lastIndexOf('cmp1 has'));
    expect(afterwards.split('\n').filter((line) => line !== '')).toEqual([
      'cmp1 has FPGA, FPGA, GPU, GPU, NIC',
      expect.stringMatching(/^Stopping\. State stays in /),
    ]);
  }
});

it('has one process of each part after the part was killed twice', { tags: ['long'] }, async () => {
  const system = start();
  await system.untilSaid('Ready after');
  for (const round of [1, 2]) {
    const [broker] = processesOf('broker');
    if (broker === undefined) throw new Error(`No broker in round ${round}.`);
    process.kill(broker, 'SIGKILL');
    // During its start, that is before it has printed that it is ready.
    await eventually(() => processesOf('broker').filter((id) => id !== broker)).toHaveLength(1);
  }
  // Longer than a second restart for the same death would take.
  await new Promise((resolve) => setTimeout(resolve, 2000));
  expect(processesOf('broker')).toHaveLength(1);
  expect(system.output().match(/broker ended unexpectedly/g)).toHaveLength(2);
  process.kill(system.process.pid ?? 0, 'SIGTERM');
  expect(await system.exited).toBe(0);
});

const isLinux = process.platform === 'linux';

it.runIf(isLinux)('takes less than 400 MiB when it is idle', { tags: ['long'] }, async () => {
  const system = start();
  // The last work of the start; before it, some processes have not taken their memory yet.
  await system.untilSaid('the console is at');
  await system.untilSaid('cmp1 has FPGA, FPGA, GPU, GPU, NIC');
  // The engine, the seven parts, the agent and the process that supervises them.
  expect(processes().length).toBeGreaterThanOrEqual(10);
  await eventually(memoryMiB, { intervalMs: 1000 }).toBeLessThan(400);
  process.kill(system.process.pid ?? 0, 'SIGTERM');
  expect(await system.exited).toBe(0);
});

it('names all ports that are taken, and how to choose others', async () => {
  const taken = ['sqs', 'api'] as const;
  const servers = await Promise.all(
    taken.map(async (name) => {
      const server = createServer();
      await listen(server, { host, port: portBase + portNames.indexOf(name) });
      return server;
    }),
  );
  const system = start();
  expect(await system.exited).toBe(2);
  expect(system.output().trim()).toBe(
    `In use by other programs: ports ${portBase + 1} (LOCAL_SQS_PORT), ${portBase + 10} (LOCAL_API_PORT). ` +
      'Stop those programs, set the variables in brackets to other ports, or move all ports with ' +
      '`npm start -- --port-base 17000`.',
  );
  for (const server of servers) server.close();
});

it.each([['0'], ['80'], ['70000'], ['x']])(
  'refuses --port-base %s in one sentence',
  async (base) => {
    const system = start('--port-base', base);
    expect(await system.exited).toBe(2);
    expect(system.output().trim()).toBe(
      `--port-base must be a port from 1024 to 65525, not ${base}.`,
    );
  },
);
