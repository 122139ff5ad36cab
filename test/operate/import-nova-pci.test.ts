// The command that moves a compute node's devices from Nova, on the running API: it shows first,
// creates profiles once, and writes the agent's settings where it is asked to.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { agentSettings } from '#operate/enrol/agent-settings.ts';
import { run } from '#test/agent/agent-process.ts';
import { sampleOf } from '#test/support/vitest/sample.ts';
import { directoryPerFile, perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const world = perFile(startWorld);
const directory = directoryPerFile();

/** Each test has an alias of its own. */
let test = 0;
let alias: string;
let conf: string;
let flavors: string;

beforeEach(() => {
  test += 1;
  alias = `gpu-${test}`;
  conf = fileOf(
    'nova.conf',
    `[pci]
device_spec = {"vendor_id": "10de", "product_id": "2235"}
device_spec = {"vendor_id": "15b3", "physical_network": "physnet1"}
alias = {"name": "${alias}", "vendor_id": "10de", "product_id": "2235", "device_type": "type-PF"}
`,
  );
  const properties = { 'pci_passthrough:alias': `${alias}:2` };
  flavors = fileOf(
    'flavors.json',
    JSON.stringify([{ ID: '1', Name: 'f', RAM: 64, Disk: 1, VCPUs: 1, Properties: properties }]),
  );
});

function fileOf(name: string, text: string): string {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

async function move(...words: string[]) {
  const all = ['import', 'nova-pci', '--conf', conf, ...words];
  const command = run('operate/cyborg-ops.ts', process.env as Record<string, string>, all);
  return { code: await command.exited(), said: command.output() };
}

const groupsOf = async (name: string) => (await world.deps.store.profiles.byName(name))?.groups;

it('shows the plan, and creates the profiles with --apply only, once', async () => {
  const group = { 'resources:CUSTOM_PCI_10DE_2235': '1', 'trait:OWNER_CYBORG': 'required' };
  const shown = await move('--flavors', flavors);
  expect(shown.code).toBe(0);
  expect(shown.said).toMatch(/stay +device_spec +spec-2 +Neutron has its ports: physical_network/);
  expect(shown.said).toMatch(/Nothing was written\. Repeat with --apply/);
  expect(shown.said).toContain(`accel:device_profile=${alias}-x2 f-accel`);
  expect(await groupsOf(alias)).toBeUndefined();

  const done = await move('--flavors', flavors, '--apply');
  expect(done).toMatchObject({ code: 0, said: expect.stringContaining('profiles created: 2.') });
  expect(await groupsOf(alias)).toEqual([group]);
  expect(await groupsOf(`${alias}-x2`)).toEqual([group, group]);
  const answer = await world.ask('GET', '/v2/device_profiles');
  const names = answer.json.device_profiles.map((each: { readonly name: string }) => each.name);
  expect(names).toContain(`${alias}-x2`);

  const again = await move('--flavors', flavors, '--apply');
  expect(again).toMatchObject({ code: 0, said: expect.stringContaining('profiles created: 0.') });
  expect(again.said).toMatch(new RegExp(`present +profile +${alias} `));
});

it('creates nothing while a name is taken by a profile with other groups', async () => {
  const body = [{ name: `${alias}-x2`, groups: [{ 'resources:FPGA': '1' }] }];
  expect((await world.ask('POST', '/v2/device_profiles', { body })).status).toBe(201);
  const refused = await move('--flavors', flavors, '--apply');
  expect(refused.code).toBe(1);
  expect(refused.said).toContain('a profile of this name with other groups exists');
  expect(refused.said).toContain('Nothing was written: 1 refused.');
  expect(await groupsOf(alias)).toBeUndefined();
  const skipped = await move('--flavors', flavors, '--apply', '--skip', `${alias}-x2`);
  expect(skipped).toMatchObject({ code: 0, said: expect.stringContaining('profiles created: 1.') });
  expect(skipped.said).toMatch(new RegExp(`stay +flavor +f +its profile ${alias}-x2 is refused`));
  expect(skipped.said).not.toContain('openstack flavor create');
  expect(await groupsOf(`${alias}-x2`)).toEqual([{ 'resources:FPGA': '1' }]);
});

it('writes settings that the enrolment takes, and never over another file', async () => {
  const out = join(directory, `settings-${test}.json`);
  const words = ['--settings-out', out, '--apply'];
  expect((await move(...words)).code).toBe(0);
  const text = readFileSync(out, 'utf8');
  const host = {
    stage: 'prod',
    hostname: 'cmp1',
    endpoint: 'iot.example',
    at: '/etc/cyborg-agent',
  };
  expect(JSON.parse(agentSettings(host, text))).toMatchObject({
    drivers: ['pci'],
    pci: { allow_list: [{ vendor_id: '10de', product_id: '2235' }] },
  });
  expect((await move(...words)).code).toBe(0);
  writeFileSync(out, '{}');
  const refused = await move(...words);
  expect(refused.code).toBe(1);
  expect(refused.said).toContain(`${out} exists with other content: nothing was written.`);
  expect(readFileSync(out, 'utf8')).toBe('{}');
});

it('prints the plan as JSON', async () => {
  const { code, said } = await move('--flavors', flavors, '--json');
  expect(code).toBe(0);
  expect(JSON.parse(said)).toMatchObject({
    settings: { drivers: ['pci'] },
    profiles: [{ name: alias }, { name: `${alias}-x2` }],
    commands: [expect.stringMatching(/^openstack flavor create .* f-accel$/)],
  });
});

type Mistake = readonly [words: readonly string[], code: number, sentence: string];

const mistakes: readonly Mistake[] = [
  [['--conf', '/nowhere/nova.conf'], 2, '/nowhere/nova.conf cannot be read (ENOENT).'],
  [['--flavors', 'README.md'], 1, 'README.md is not valid JSON'],
  [['--conf', 'package.json'], 1, 'package.json, line 1 must be [section]'],
  [['--skip', 'gpu'], 2, '--skip gpu names no row.'],
  [['--settings-out', 'x'], 2, '--settings-out needs --apply.'],
  [['--mdev-trait', 'FAST=nvidia-35'], 2, 'must be CUSTOM_<NAME>=<type>.'],
  [['--mdev-trait', 'CUSTOM_A=nvidia-35'], 2, 'enabled_mdev_types has no nvidia-35; it has none.'],
  [['--dry-run'], 2, 'Unknown option --dry-run'],
];
const { sample, rest } = sampleOf(mistakes, 1);
const title = 'answers %j with exit code %i and a sentence';

it.each(sample)(`${title} (a sample of one)`, answers);

it.each(rest)(title, { tags: ['long'] }, answers);

async function answers(...[words, code, sentence]: Mistake): Promise<void> {
  const told = await move(...words);
  expect(told.code).toBe(code);
  expect(told.said).toContain(sentence);
  expect(told.said).not.toMatch(/\n\s+at /);
}
