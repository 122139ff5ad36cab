// docs/deploy.md works as written: the test runs its blocks in their order, with the system on one
// machine instead of AWS, down to a server that boots with a device of the enrolled host.
//
// @module-tag long

import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { announceHost } from '#local/demo/announce-host.ts';
import { waitFor } from '#local/demo/demo-client.ts';
import { password, region } from '#local/openstack/keystone/catalog.ts';
import { chooseLayout, type Layout, settingsOf, urlOf } from '#local/process/layout.ts';
import { type System, startSystem } from '#local/process/system.ts';
import { type AgentProcess, run } from '#test/agent/agent-process.ts';
import { namedBlocks } from '#test/support/doc-examples.ts';
import { met } from '#test/support/vitest/eventually.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';

const root = join(import.meta.dirname, '../..');
const stage = 'guide';
const hostname = 'cmp1.example';
const blocks = namedBlocks('deploy.md');

const directory = directoryPerFile();
let layout: Layout;
let system: System;
let environment: Record<string, string>;
let agent: AgentProcess | undefined;

beforeAll(async () => {
  layout = await chooseLayout({ stage, directory, anyPorts: true });
  system = await startSystem({ layout, agents: [], restart: false });
  await announceHost(layout, hostname);
  // Settings in place of an operator's AWS credentials and region.
  const own = Object.entries(settingsOf(layout)).filter(([name]) => name.startsWith('AWS_'));
  environment = {
    PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
    HOME: directory,
    ...Object.fromEntries(own),
    STAGE: stage,
    HOST: hostname,
    DIR: join(directory, 'operator'),
    CYBORG_URL: `${urlOf(layout, 'api')}/accelerator/v2`,
    OS_AUTH_URL: urlOf(layout, 'keystone'),
    OS_USERNAME: 'admin',
    OS_PASSWORD: password,
    OS_PROJECT_NAME: 'admin',
    OS_REGION_NAME: region,
  };
});

afterAll(async () => {
  await agent?.stop();
  await system.stop();
});

function block(name: string): string {
  const content = blocks.get(name);
  if (content === undefined) throw new Error(`docs/deploy.md has no block named ${name}.`);
  return content;
}

/** Output of a block. @throws if a line of it fails */
async function runBlock(name: string, change = (text: string) => text): Promise<string> {
  const script = `set -eu\n${block('settings')}\n${change(block(name))}`;
  const options = { env: environment, cwd: root };
  return (await promisify(execFile)('bash', ['-c', script], options)).stdout;
}

/** Copies to the host: the same files at another place, for another broker. */
function install(): string {
  const folder = join(directory, 'operator', hostname);
  const file = join(folder, 'agent.json');
  const settings = readFileSync(file, 'utf8')
    .replaceAll('/etc/cyborg-agent/', `${folder}/`)
    .replace('localhost:8883', `localhost:${layout.ports.mqtt}`);
  const given = {
    ...JSON.parse(settings),
    state_dir: join(directory, 'state'),
    interval_seconds: 1,
  };
  writeFileSync(file, JSON.stringify(given));
  const authority = readFileSync(join(directory, 'certificates/authority.pem'));
  writeFileSync(join(folder, 'authorities.pem'), authority);
  return file;
}

async function ask<T>(url: string, token: string, body?: unknown): Promise<T> {
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'X-Auth-Token': token, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  expect(response.ok, `${url} ${response.status}`).toBe(true);
  return (await response.json()) as T;
}

it('deploys a stack that can be synthesised, with the same options everywhere', async () => {
  await runBlock('synth');
  const options = (text: string) =>
    [
      ...text.matchAll(
        /^n\w+ .*?(?:cdk \w+|preflight --) (?:--quiet |--force |--import-existing-resources )?(.*)$/gm,
      ),
    ].map(([, given]) => given);
  const [expected] = options(block('synth'));
  const deploying = ['preflight', 'deploy', 'retry', 'upgrade', 'rollback', 'take-back', 'remove'];
  for (const name of deploying.map((each) => `aws:${each}`)) {
    expect([name, ...new Set(options(block(name)))]).toEqual([name, expected]);
  }
});

it('registers the deployment, which the local system is already', async () => {
  const told = await runBlock('register');
  expect(told.match(/^Nothing to change: the deployment is registered\.$/gm)).toHaveLength(2);
  expect(told).toContain(environment.CYBORG_URL);
});

it('leads from an empty system to a server with its device, and back', async () => {
  await runBlock('bundle');
  await runBlock('enrol');
  const file = install();
  expect(readdirSync(join(directory, 'operator', hostname)).sort()).toEqual([
    'agent.json',
    'authorities.pem',
    'certificate.pem',
    'key.pem',
  ]);
  agent = run('dist/cyborg-agent.mjs', { CYBORG_AGENT_CONFIG: file });
  writeFileSync(join(directory, 'operator', `${stage}.json`), JSON.stringify(settingsOf(layout)));
  // The agent's first report tells its boot only.
  const healthy = await met(async () => {
    const told = await runBlock('doctor');
    expect(told).toMatch(/ok {5}host cmp1.example: [^0]/);
    return told;
  });
  expect(healthy).toMatch(/ok {5}host cmp1.example: 1 devices/);
  expect(healthy).toMatch(/ 0 wrong, /);
  expect(healthy).toMatch(
    /cmp1.example: connected since .*\n {2}[0-9a-f]{64} {2}ACTIVE .* {2}last used/,
  );

  const [api, nova] = [`${urlOf(layout, 'api')}/accelerator/v2`, `${urlOf(layout, 'nova')}/v2.1`];
  const groups = [{ 'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required' }];
  await ask(`${api}/device_profiles`, 'admin-token', [{ name: 'first', groups }]);
  const flavor = { id: '1', name: 'accel', vcpus: 1, ram: 64, disk: 1 };
  await ask(`${nova}/flavors`, 'admin-token', { flavor });
  const extra_specs = { 'accel:device_profile': 'first' };
  await ask(`${nova}/flavors/1/os-extra_specs`, 'admin-token', { extra_specs });
  await ask(`${nova}/servers`, 'demo-token', { server: { name: 'vm1', flavorRef: '1' } });
  type Servers = { servers: { status: string }[] };
  await waitFor(
    'Nova to build the server',
    () => ask<Servers>(`${nova}/servers/detail`, 'demo-token'),
    ({ servers }) => servers[0]?.status === 'ACTIVE',
  );
  type Arqs = { arqs: { state: string; hostname: string }[] };
  expect(await ask<Arqs>(`${api}/accelerator_requests`, 'demo-token')).toMatchObject({
    arqs: [{ state: 'Bound', hostname }],
  });

  await runBlock('forget');
  expect(readdirSync(join(directory, 'operator'))).not.toContain(hostname);
  await expect(runBlock('remove-hosts')).rejects.toThrow('agents are connected: cmp1.example');
  await agent.stop();
  const removed = await met(() => runBlock('remove-hosts'));
  expect(removed).toMatch(/^removed [0-9a-f]{64}\nremoved cmp1\.example\n$/);
  expect(await runBlock('remove-hosts')).toBe('No hosts are enrolled.\n');
});

it('links to existing sections', () => {
  const text = readFileSync(join(root, 'docs/deploy.md'), 'utf8');
  const links = [...text.matchAll(/\]\(([\w./-]*)(?:#([\w-]+))?\)/g)];
  expect(links.length).toBeGreaterThan(10);
  for (const [, page = '', section] of links) {
    const target = readFileSync(join(root, 'docs', page === '' ? 'deploy.md' : page), 'utf8');
    const headings = [...target.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
    if (section !== undefined) expect(headings, `${page}#${section}`).toContain(section);
  }
});
