// docs/agent.md: its settings are accepted as they are shown, and its lists name every driver.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { loadConfig } from '#agent/config.ts';
import { ownDrivers } from '#agent/drivers/index.ts';

const textOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const text = textOf('docs/agent.md');
const ofAgent = { stage: 'prod', endpoint: 'x:443', certificate: '/c', key: '/k' };

const blocks = [...text.matchAll(/^ *```json\n(.*?)^ *```$/gms)].map(([, json = '']) => json);
const agentFile = z.looseObject({ drivers: z.array(z.string()) });
/** Whole files, and allow-lists of driver `pci`. */
const shown = blocks.flatMap((json) => {
  const given: unknown = JSON.parse(json);
  if (Array.isArray(given)) return [{ drivers: ['pci'], pci: { allow_list: given } }];
  return agentFile.safeParse(given).data ?? [];
});

const names = ownDrivers.map(({ name }) => name);
const named = (line: string) => [...line.matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name);

describe('the settings in docs/agent.md', () => {
  it.each(shown)('$drivers: %j is accepted', (given) => {
    const file = JSON.stringify({ ...ofAgent, ...given });
    const config = loadConfig({ environment: {}, file, hostname: 'cmp1', isReadable: () => true });
    expect(config.drivers.map(({ name }) => name)).toEqual(given.drivers);
  });

  it('have an example of each driver with settings', () => {
    const withSettings = ownDrivers.filter((each) => 'faults' in each.configure(undefined));
    const drivers = new Set(shown.flatMap((each) => each.drivers));
    const missing = withSettings.map(({ name }) => name).filter((name) => !drivers.has(name));
    // Its settings are those of `ai_chip`, with other models.
    expect(missing).toEqual(['inspur_fpga']);
  });
});

describe('the drivers that docs/agent.md lists', () => {
  it('are all in the row of the setting drivers', () => {
    const row = text.split('\n').find((line) => line.startsWith('| `drivers` |')) ?? '';
    expect(names.filter((name) => !named(row).includes(name))).toEqual([]);
  });

  it('are all among what the agent reports', () => {
    const [, list = ''] = text.split('Each driver reports its own kind of hardware:\n\n');
    const [items = ''] = list.split('\n\n');
    const heads = items.split('\n').flatMap((line) => (/^- (.*?): /.exec(line) ?? []).slice(1));
    expect(heads.flatMap(named).sort()).toEqual([...names].sort());
  });

  it('are real in README.md unless they are fakes', () => {
    const line = /^- \*\*Real today\*\*: (.*)$/m.exec(textOf('README.md'))?.[1] ?? '';
    const real = names.filter((name) => !name.startsWith('fake'));
    expect(named(line).sort()).toEqual(real.sort());
  });
});
