// The page and the example settings of each driver: what they show is accepted, and the models
// that they name are those of the drivers.

import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { loadConfig } from '#agent/config/config.ts';
import { aiChips } from '#agent/drivers/by-model/ai-chips.ts';
import { inspurFpgas } from '#agent/drivers/by-model/inspur-fpgas.ts';
import { ownDrivers } from '#agent/drivers/index.ts';

const root = join(import.meta.dirname, '../..');
const textOf = (file: string) => readFileSync(join(root, file), 'utf8');
const pages = ['docs/agent.md', ...globSync('edge-agent/drivers/*/README.md', { cwd: root })];
const examples = globSync('edge-agent/drivers/*/settings.example.json', { cwd: root });

const agentFile = z.looseObject({ drivers: z.array(z.string()) });
const ofAgent = { stage: 'prod', endpoint: 'x:443', certificate: '/c', key: '/k' };

function driversOf(settings: z.infer<typeof agentFile>): readonly string[] {
  const file = JSON.stringify({ ...ofAgent, ...settings });
  const config = loadConfig({ environment: {}, file, hostname: 'cmp1', isReadable: () => true });
  return config.drivers.map(({ name }) => name);
}

/** JSON in a page: whole files, and allow-lists of driver `pci`. */
const shown = pages.flatMap((page) =>
  [...textOf(page).matchAll(/^ *```json\n(.*?)^ *```$/gms)].flatMap(([, json = '']) => {
    const given: unknown = JSON.parse(json);
    if (Array.isArray(given)) return [[page, { drivers: ['pci'], pci: { allow_list: given } }]];
    const settings = agentFile.safeParse(given).data;
    return settings ? [[page, settings]] : [];
  }),
) as [string, z.infer<typeof agentFile>][];

describe('settings', () => {
  it.each(shown)('that %s shows are accepted: %j', (_page, settings) => {
    expect(driversOf(settings)).toEqual(settings.drivers);
  });

  it('of each example are accepted', () => {
    for (const file of examples) {
      const settings = agentFile.parse(JSON.parse(textOf(file)));
      expect([file, driversOf(settings)]).toEqual([file, settings.drivers]);
    }
  });

  it('have an example for each driver with settings', () => {
    const named = examples.flatMap((file) => agentFile.parse(JSON.parse(textOf(file))).drivers);
    const withSettings = ownDrivers.filter((each) => 'faults' in each.configure(undefined));
    const missing = withSettings.map(({ name }) => name).filter((name) => !named.includes(name));
    // Its settings are those of `ai_chip`, with other models.
    expect(missing).toEqual(['inspur_fpga']);
  });
});

it('each folder of a driver has its page, which the table of drivers lists', () => {
  const folders = globSync('edge-agent/drivers/*/index.ts', { cwd: root }).map(dirname);
  const table = textOf('edge-agent/drivers/README.md');
  const unlisted = folders.filter((folder) => !table.includes(`](${basename(folder)}/README.md)`));
  expect(unlisted).toEqual([]);
});

describe.each([aiChips, inspurFpgas])('the table of $driver', ({ driver, rows }) => {
  const [, table = ''] = textOf('edge-agent/drivers/by-model/README.md').split(
    `| \`${driver}\`: model |`,
  );
  const lines = (table.split('\n\n')[0] ?? '').split('\n');

  it('names the models of the driver, and no other', () => {
    const named = lines.flatMap((line) =>
      [...(line.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
    );
    expect([...named].sort()).toEqual(rows.map(({ name }) => name).sort());
  });

  it.each(rows)('has vendor, ids and class of $name', ({ name, ...row }) => {
    const line = lines.find((each) => each.includes(`\`${name}\``)) ?? '';
    const [first = ''] = row.product_ids;
    expect(line).toContain(`${row.vendor_id}:`);
    expect(line).toContain(first);
    expect(line).toContain(`\`${row.resource_class}\``);
  });
});
