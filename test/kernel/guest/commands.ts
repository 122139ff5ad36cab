// Runs in the guest: does what the host asks for, one system call or command at a time, and
// answers with the kernel's errors. The host has the tests.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { constants, createReadStream, openSync, readdirSync, writeSync } from 'node:fs';
import { access, mkdir, open, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { createInterface } from 'node:readline';
import type { Call, Notice, Ran, Reply, Request } from '#test/kernel/protocol.ts';

/** The port's device; there is no udev to give it its name. Other devices may come before it. */
const port = readdirSync('/dev').find((name) => /^vport\d+p1$/.test(name));

// The driver allows one open file.
const file = openSync(`/dev/${port}`, 'r+');
const processes = new Map<string, ChildProcess>();

function say(message: Reply | Notice): void {
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}

async function perform(call: Call): Promise<unknown> {
  switch (call.call) {
    case 'read':
      return readFile(call.path, 'utf8');
    case 'write':
      return writeOnce(call.path, call.text);
    case 'list':
      return (await readdir(call.path)).sort();
    case 'link':
      return basename(await readlink(call.path));
    case 'exists':
      return access(call.path).then(
        () => true,
        () => false,
      );
    case 'save':
      await mkdir(dirname(call.path), { recursive: true });
      return writeFile(call.path, Buffer.from(call.base64, 'base64'));
    case 'run':
      return run(call.command);
    case 'start':
      return start(call.name, call.command, call.environment);
    case 'kill':
      return processes.get(call.name)?.kill(call.signal) ?? false;
  }
}

async function writeOnce(path: string, text: string): Promise<void> {
  const attribute = await open(path, constants.O_WRONLY);
  try {
    await attribute.write(text);
  } finally {
    await attribute.close();
  }
}

function run([program = '', ...args]: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(program, args, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, stdout, stderr: stderr || (error?.message ?? '') });
    });
  });
}

function start(
  name: string,
  [program = '', ...args]: readonly string[],
  environment: Readonly<Record<string, string>>,
): void {
  const env = { PATH: process.env.PATH, ...environment };
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  processes.set(name, child);
  for (const stream of [child.stdout, child.stderr]) {
    createInterface(stream).on('line', (line) => say({ process: name, line }));
  }
  child.once('error', (error) => say({ process: name, line: String(error) }));
  child.once('close', (exit) => say({ process: name, exit }));
}

async function answer({ id, ...call }: Request): Promise<void> {
  try {
    say({ id, value: (await perform(call)) ?? null });
  } catch (error) {
    const { code = 'UNKNOWN', message } = error as NodeJS.ErrnoException;
    say({ id, error: { code, message } });
  }
}

const requests = createInterface(createReadStream('', { fd: file }));
requests.on('line', (line) => void answer(JSON.parse(line) as Request));
// The host has ended, or wants the VM to end.
requests.once('close', () => process.exit(0));
say({ ready: await readFile('/proc/sys/kernel/random/boot_id', 'utf8') });
