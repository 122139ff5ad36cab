// docs/agent.md: its settings are accepted as they are shown, of each driver that has any.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { loadConfig } from '#agent/config/config.ts';
import { ownDrivers } from '#agent/drivers/index.ts';

const text = readFileSync(new URL('../../docs/agent.md', import.meta.url), 'utf8');
const ofAgent = { stage: 'prod', endpoint: 'x:443', certificate: '/c', key: '/k' };

const blocks = [...text.matchAll(/^ *```json\n(.*?)^ *```$/gms)].map(([, json = '']) => json);
const agentFile = z.looseObject({ drivers: z.array(z.string()) });
/** Whole files, and allow-lists of driver `pci`. */
const shown = blocks.flatMap((json) => {
  const given: unknown = JSON.parse(json);
  if (Array.isArray(given)) return [{ drivers: ['pci'], pci: { allow_list: given } }];
  return agentFile.safeParse(given).data ?? [];
});

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
