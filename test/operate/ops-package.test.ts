// The tarball of cyborg-ops, installed into an empty folder without a network, works on the
// running system.
//
// @module-tag long

import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { announceHost } from '#local/demo/announce-host.ts';
import { password } from '#local/openstack/keystone/catalog.ts';
import { chooseLayout, type Layout, settingsOf, urlOf } from '#local/process/layout.ts';
import { type System, startSystem } from '#local/process/system.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';

const root = join(import.meta.dirname, '../..');
const start = promisify(execFile);
const directory = directoryPerFile();
let layout: Layout;
let system: System;
let files: readonly string[];
let tarball: string;

beforeAll(async () => {
  const folder = join(directory, 'installed');
  mkdirSync(folder);
  await start(process.execPath, ['infra/bundle/bundle-ops.ts'], { cwd: root });
  const pack = ['pack', './dist/cyborg-ops', '--json', '--pack-destination', directory];
  const [packed] = JSON.parse((await start('npm', pack, { cwd: root })).stdout);
  files = packed.files.map(({ path }: { readonly path: string }) => path);
  tarball = join(directory, packed.filename);
  await start('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: folder });
  layout = await chooseLayout({
    stage: 'package',
    directory: join(directory, 's'),
    anyPorts: true,
  });
  const agents = [{ hostname: 'cmp1', drivers: 'fake' }];
  system = await startSystem({ layout, agents, restart: false });
  await announceHost(layout, 'cmp1');
  writeFileSync(join(directory, 'environment.json'), JSON.stringify(settingsOf(layout)));
  const devices = async () => JSON.parse(await told('devices', '--json')).devices;
  await eventually(devices).not.toEqual([]);
});

afterAll(() => system.stop());

/** The variables of an operator, and Node itself. */
const environment = (user: string) => ({
  PATH: `${join(process.execPath, '..')}:${join(directory, 'installed/node_modules/.bin')}:${process.env.PATH}`,
  OS_AUTH_URL: urlOf(layout, 'keystone'),
  OS_USERNAME: user,
  OS_PASSWORD: password,
  OS_PROJECT_NAME: 'demo',
  // A directory without clouds.yaml.
  HOME: directory,
});

/** A line of a shell, in a directory without the sources. */
async function line(text: string, user = 'admin') {
  const options = { cwd: directory, env: environment(user) };
  const script = `set -o pipefail; ${text}`;
  return start('bash', ['-c', script], options).then(
    ({ stdout, stderr }) => ({ exitCode: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ exitCode: code, stdout, stderr }),
  );
}

async function told(...words: string[]): Promise<string> {
  return (await line(`cyborg-ops ${words.join(' ')}`)).stdout;
}

it('the tarball has the bundle, its licences and a guide, and nothing else', () => {
  expect(files.toSorted()).toEqual([
    'LICENSE',
    'README.md',
    'cyborg-ops.mjs',
    'cyborg-ops.mjs.LEGAL.txt',
    'package.json',
  ]);
});

describe('the installed command', () => {
  it('prints its help and version', async () => {
    expect(await told('--help')).toMatch(/^cyborg-ops <command>/);
    expect(await told('--version')).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(await told('doctor', '--help')).toMatch(
      /^cyborg-ops doctor [\s\S]*--environment <file>/,
    );
  });

  it('runs by npx from the tarball, without a network', async () => {
    const npx = await line(`npx --offline --yes --package ${tarball} cyborg-ops quota set --help`);
    expect(npx).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^cyborg-ops quota set/),
    });
  });

  it('lists, disables and enables a device', async () => {
    const uuid = JSON.parse(await told('devices', '--json')).devices[0].uuid;
    expect(await told('devices', 'disable', uuid, '--reason', "'fan is loud'")).toContain(
      'disabled',
    );
    expect(await told('devices', 'show', uuid)).toMatch(/status +disabled\nreason +fan is loud/);
    expect(await told('devices', 'enable', uuid)).toContain('enabled');
    expect(await told('devices')).toMatch(new RegExp(`${uuid} +cmp1 .* enabled`));
    expect(await told('devices', 'force-release', uuid)).toContain('no handle freed');
  });

  it('tells a refusal by its exit code, in one sentence', async () => {
    expect(await line('cyborg-ops devices show nope')).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: 'Device nope not found.\n',
    });
    expect(await line('cyborg-ops devices', 'demo')).toMatchObject({
      exitCode: 3,
      stderr: expect.stringMatching(/^Policy does not allow .*manager, admin\.\n$/),
    });
  });

  it('runs the doctor, who finds nothing wrong', async () => {
    const doctor = await line('cyborg-ops doctor --environment environment.json');
    expect(doctor).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/\d+ ok, 0 wrong/) });
  });

  it('has the counts of the stack, of which it has no template', async () => {
    // Hosts have no alarms; the stack's are in the second column.
    expect(await told('cost')).toMatch(/^\| CloudWatch alarms, metrics \| {2}\| [1-9][\d.]+ \|/m);
  });

  it.each(['devices --json', 'cost'])('%s survives a reader that has closed', async (words) => {
    const closed = await line(`cyborg-ops ${words} | (exec <&-; sleep 1)`);
    expect(closed).toEqual({ exitCode: 0, stdout: '', stderr: '' });
  });
});
