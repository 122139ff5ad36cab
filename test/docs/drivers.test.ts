// docs/drivers.md: the driver that it prints works as printed.
//
// @module-tag long

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { reportedDevice } from '#core/contracts/report/inventory-report.ts';
import { agentSettings, modulesIn } from '#operate/enrol/agent-settings.ts';
import { moduleText } from '#test/drivers/new-driver-texts.ts';
import { namedBlocks } from '#test/support/doc-examples.ts';
import { SysfsTree } from '#test/support/hosts/sysfs.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';

const root = join(import.meta.dirname, '../..');
const directory = directoryPerFile();
const blocks = namedBlocks('drivers.md');
const settings = blocks.get('agent.json') ?? '';

function write(name: string, text: string): string {
  const file = join(directory, name);
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

function check(...args: string[]) {
  const script = join(root, 'test/drivers/main.ts');
  const { status, stdout } = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });
  return { status, lines: stdout.trim().split('\n') };
}

const tree = new SysfsTree(join(directory, 'sys'));
for (const address of ['0000:3b:00.0', '0000:5e:00.0']) {
  tree.addFunction({ address, vendor: '1ae0', product: '0001', classCode: '120000' });
}
const module = write('my_npu.mjs', blocks.get('my_npu.mjs') ?? '');
const { my_npu } = z.object({ my_npu: z.unknown() }).parse(JSON.parse(settings));
const own = write('my_npu.json', JSON.stringify(my_npu));

it("loads the operator's driver, and takes the settings", async () => {
  const host = { stage: 'dev', hostname: 'cmp1', endpoint: 'x:443', at: '/etc/cyborg-agent' };
  const modules = await modulesIn(directory);
  expect(modules.map(({ name }) => name)).toEqual(['my_npu']);
  expect(agentSettings({ ...host, modules }, settings)).toContain('"my_npu"');
});

it('the driver as printed is the one that driver:new writes', () => {
  expect(moduleText('my_npu')).toBe(blocks.get('my_npu.mjs'));
});

it('names each key of a description', () => {
  const page = readFileSync(join(root, 'docs/drivers.md'), 'utf8');
  const { offers, regions } = reportedDevice.shape;
  const offering = offers.unwrap().shape;
  const handle = offering.attach_handles.element.shape;
  const forms = [reportedDevice.shape, offering, regions.element.shape, handle];
  // The agent adds these itself.
  const ofAgent = new Set(['seen_attachments', 'components', 'other_owner', 'card', 'unit_cards']);
  const keys = new Set(forms.flatMap(Object.keys).filter((key) => !ofAgent.has(key)));
  expect([...keys].filter((key) => !new RegExp(`\\b${key}\\b`).test(page))).toEqual([]);
});

it("the kit finds no fault in the operator's driver", () => {
  const { status, lines } = check('--module', module, '--settings', own, '--tree', tree.root);
  expect(lines.filter((line) => line.startsWith('FAILED'))).toEqual([]);
  expect(lines.at(-1)).toMatch(/^[1-9]\d passed, 0 failed$/);
  expect(lines.at(-2)).toContain('prepare and clean are not checked');
  expect(status).toBe(0);
});

it("the kit checks cleaning with the kernel's side, and finds a fault", () => {
  const change = (text: string) => {
    const withClean = (blocks.get('my_npu.mjs') ?? '')
      .replace("type: 'PCI', info", "type: 'PCI', clean_seconds: 9, info")
      .replace('{ sysfs, guards }) => ({', `{ sysfs, guards, hardware }) => ({ ${text},`);
    return write('cleaning.mjs', withClean);
  };
  const kernel = write('kernel.js', 'export default () => ({});');
  const given = ['--settings', own, '--tree', tree.root, '--kernel', kernel];
  const file = `'bus/pci/devices/' + address + '/reset'`;
  const good = `clean: async ({ address }) => {
    await hardware.writeText(address, ${file}, '1');
    return { reset: true };
  }`;
  expect(check('--module', change(good), ...given).lines.at(-1)).toMatch(/passed, 0 failed$/);
  const silent = good.replace("'1')", "'1').catch(() => {})");
  const { status, lines } = check('--module', change(silent), ...given);
  expect(lines.filter((line) => line.startsWith('FAILED'))).toHaveLength(5);
  expect(status).toBe(1);
});

describe('the types of a driver', () => {
  const modules = join(directory, 'types/node_modules');
  const run = (script: string, ...args: string[]) =>
    spawnSync(process.execPath, [join(root, script), ...args], { encoding: 'utf8' });

  /** What the compiler says of a file beside the package of types, as an editor would show it. */
  const compile = (text: string) => {
    const file = join(directory, 'types/driver.mjs');
    writeFileSync(file, text);
    const options =
      '--ignoreConfig --noEmit --checkJs --target es2024 --module nodenext --strict false';
    return run('node_modules/typescript/bin/tsc', ...options.split(' '), file).stdout;
  };

  beforeAll(() => {
    mkdirSync(modules, { recursive: true });
    const { status, stderr } = run(
      'infra/driver-types/main.ts',
      ...['--out', join(modules, 'cyborg-driver')],
    );
    if (status !== 0) throw new Error(stderr);
    for (const name of ['zod', '@types']) {
      symlinkSync(join(root, 'node_modules', name), join(modules, name));
    }
  });

  it('fit the driver as printed', () => {
    expect(compile(blocks.get('my_npu.mjs') ?? '')).toBe('');
  });

  it('find what is not in the contract', () => {
    const text = (blocks.get('my_npu.mjs') ?? '').replace(
      '{ devices, notOffered }',
      '{ notOffered }',
    );
    expect(compile(text)).toContain("Property 'devices' is missing");
  });
});
