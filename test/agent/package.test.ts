// The package of the agent, built twice, and installed, upgraded, downgraded, removed and purged
// by dpkg in a tree of its own. No systemd runs there.
//
// @module-tag long

import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { agentVersion } from '#agent/version.ts';
import { faultOfSignature, writeMinisignKey } from '#test/support/minisign.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';

const tools = ['dpkg-deb', 'dpkg', 'zstd', 'cc'];
const hasTools = tools.every((tool) => spawnSync(tool, ['--version']).status === 0);
const isSupported = process.platform === 'linux' && process.arch === 'x64';
const directory = directoryPerFile();

function pack(out: string, ...options: string[]) {
  mkdirSync(join(directory, out), { recursive: true });
  const args = ['infra/agent-package/main.ts', '--out', join(directory, out), ...options];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { status, stderr };
}

const debian = (out: string, revision: number) =>
  join(directory, out, `cyborg-agent_${agentVersion}-${revision}_amd64.deb`);
const archive = (out: string) =>
  join(directory, out, `cyborg-agent-${agentVersion}-linux-x64.tar.gz`);
const digest = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');

const aSigningKey = (name: string, given = {}) =>
  writeMinisignKey(join(directory, `${name}.key`), given);

/** Below the root of the tree. */
const host = join(directory, 'host');
const at = (name: string) => join(host, name);

function write(name: string, text: string): void {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), text);
}

function dpkg(...args: string[]): string {
  // Its own scripts take the tree from DPKG_ROOT; the tree has no shell to change into.
  const options = ['--force-script-chrootless', '--force-not-root', '--force-depends'];
  const { status, stdout, stderr } = spawnSync('dpkg', [`--root=${host}`, ...options, ...args], {
    encoding: 'utf8',
    // The tools of administrators are in folders that a user's path may lack.
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` },
  });
  expect(status, `${stdout}${stderr}`).toBe(0);
  return `${stdout}${stderr}`;
}

const key = aSigningKey('agent');

const installedVersion = () =>
  /^Version: (.*)$/m.exec(readFileSync(at('var/lib/dpkg/status'), 'utf8'))?.[1];

describe.skipIf(!(hasTools && isSupported))('the package of the agent, where dpkg is', () => {
  beforeAll(() => {
    for (const [out, revision] of [
      ['first', '1'],
      ['again', '1'],
      ['next', '2'],
    ] as const) {
      // Only the first is signed; the others agree with it to the byte.
      const signing = out === 'first' ? ['--sign-key', key.file] : [];
      expect(pack(out, '--revision', revision, ...signing)).toMatchObject({ status: 0 });
    }
    for (const name of ['updates', 'info', 'triggers']) {
      mkdirSync(at(`var/lib/dpkg/${name}`), { recursive: true });
    }
    for (const name of ['status', 'available']) write(`var/lib/dpkg/${name}`, '');
  });

  it('is the same to the byte when it is built again', () => {
    expect(digest(debian('again', 1))).toBe(digest(debian('first', 1)));
    expect(digest(archive('again'))).toBe(digest(archive('first')));
  });

  it('has sums, with which its files agree', () => {
    const { status, stdout } = spawnSync('sha256sum', ['--check', 'SHA256SUMS'], {
      cwd: join(directory, 'first'),
      encoding: 'utf8',
    });
    expect([status, stdout.match(/: OK$/gm)?.length]).toEqual([0, 2]);
  });

  it('has a signature of each file and of the sums, as minisign verifies it', () => {
    const files = [debian('first', 1), archive('first'), join(directory, 'first', 'SHA256SUMS')];
    for (const file of files) {
      expect(faultOfSignature(file, key.public)).toBeUndefined();
      const { status, error, stderr } = spawnSync('minisign', [
        ...['-V', '-m', file, '-P', key.public],
      ]);
      if (!error) expect(status, String(stderr)).toBe(0);
    }
    const [file = ''] = files;
    expect(faultOfSignature(file, aSigningKey('other').public)).toBe('another key');
    writeFileSync(`${file}.copy`, 'another file');
    writeFileSync(`${file}.copy.minisig`, readFileSync(`${file}.minisig`));
    expect(faultOfSignature(`${file}.copy`, key.public)).toBe('another file');
  });

  it('has no signature without a key, nor one of an earlier run', () => {
    expect(existsSync(`${debian('again', 1)}.minisig`)).toBe(false);
    expect(existsSync(join(directory, 'again', 'SHA256SUMS.minisig'))).toBe(false);
  });

  it('has a bill of what it is made of', () => {
    const bill = execFileSync('tar', [
      ...['-xzOf', archive('first'), './usr/share/doc/cyborg-agent/sbom.cdx.json'],
    ]);
    const { bomFormat, components } = JSON.parse(String(bill));
    const names: string[] = components.map(({ name }: { name: string }) => name);
    expect(bomFormat).toBe('CycloneDX');
    expect(names).toEqual(expect.arrayContaining(['mqtt', 'zod', 'node']));
    for (const { name, hashes } of components) {
      if (name !== 'node') expect(hashes[0].content, name).toMatch(/^[0-9a-f]{128}$/);
    }
  });

  it('runs with its own Node from the unpacked archive', () => {
    const unpacked = join(directory, 'unpacked');
    mkdirSync(unpacked);
    execFileSync('tar', ['-xzf', archive('first'), '-C', unpacked]);
    const printed = execFileSync(join(unpacked, 'usr/bin/cyborg-agent'), ['--version'], {
      env: { PATH: '/usr/bin:/bin' },
      encoding: 'utf8',
    });
    expect(printed.trim()).toBe(agentVersion);
    const hook = statSync(join(unpacked, 'usr/lib/cyborg-agent/libvirt-hook'));
    expect(hook.mode & 0o777).toBe(0o755);
    const helper = spawnSync(join(unpacked, 'usr/lib/cyborg-agent/helper'), ['--help']);
    expect(helper.error).toBeUndefined();
  });

  it('installs its program and a unit that starts it', () => {
    dpkg('--install', debian('first', 1));
    expect(installedVersion()).toBe(`${agentVersion}-1`);
    const unit = readFileSync(at('usr/lib/systemd/system/cyborg-agent.service'), 'utf8');
    expect(unit).toContain('ExecStart=/usr/bin/cyborg-agent\n');
    // Never beside the agent of a Cyborg: docs/import.md.
    expect(unit).toContain('\nConflicts=openstack-cyborg-agent.service ');
    const printed = execFileSync(at('usr/bin/cyborg-agent'), ['--version'], { encoding: 'utf8' });
    expect(printed.trim()).toBe(agentVersion);
  });

  it('keeps settings and state through an upgrade and back', () => {
    const defaults = '# Mine.\nCYBORG_AGENT_LOG_LEVEL=debug\n';
    write('etc/default/cyborg-agent', defaults);
    write('etc/cyborg-agent/agent.json', '{}');
    write('var/lib/cyborg-agent/jobs.json', '{"version":2}');
    for (const [out, revision] of [
      ['next', 2],
      ['first', 1],
    ] as const) {
      dpkg('--install', debian(out, revision));
      expect(installedVersion()).toBe(`${agentVersion}-${revision}`);
      expect(readFileSync(at('etc/default/cyborg-agent'), 'utf8')).toBe(defaults);
      expect(readFileSync(at('var/lib/cyborg-agent/jobs.json'), 'utf8')).toBe('{"version":2}');
    }
  });

  it('leaves settings when it is removed, and identity and state when it is purged', () => {
    dpkg('--remove', 'cyborg-agent');
    expect(existsSync(at('usr/lib/cyborg-agent'))).toBe(false);
    expect(existsSync(at('etc/default/cyborg-agent'))).toBe(true);
    expect(dpkg('--purge', 'cyborg-agent')).toContain('/var/lib/cyborg-agent is kept');
    expect(existsSync(at('etc/default/cyborg-agent'))).toBe(false);
    expect(existsSync(at('var/lib/cyborg-agent/jobs.json'))).toBe(true);
    expect(existsSync(at('etc/cyborg-agent/agent.json'))).toBe(true);
  });

  it.each([
    ['is missing', undefined, 'cannot be read (ENOENT).'],
    ['others may read', { mode: 0o640 }, 'must be for its owner alone: chmod 600.'],
    ['has a password', { derivation: 'Sc' }, 'has a password; make a key without one'],
    ['is cut', { cut: 20 }, 'is not a secret key of minisign.'],
    ['is damaged', { damaged: true }, 'its two halves do not match.'],
  ])('is refused with a key that %s', (what, given, sentence) => {
    const name = what.replaceAll(' ', '-');
    const file = given ? aSigningKey(name, given).file : join(directory, 'none');
    const { status, stderr } = pack('refused', '--sign-key', file);
    expect([status, stderr]).toEqual([1, expect.stringContaining(`${file} `)]);
    expect(stderr).toContain(sentence);
  });

  it.each([
    [['--arch', 'mips'], '--arch mips is not known; allowed are x64, arm64.'],
    [['--revision', '0'], '--revision 0 is no number from 1 to 9999.'],
  ])('is refused for %j', (options, sentence) => {
    const { status, stderr } = pack('refused', ...options);
    expect([status, stderr]).toEqual([1, expect.stringContaining(sentence)]);
  });
});
