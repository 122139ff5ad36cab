// docs/agent.md: its tables of models are those of the drivers, and its settings are valid.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { aiChips } from '#agent/drivers/by-model/ai-chips.ts';
import { inspurFpgas } from '#agent/drivers/by-model/inspur-fpgas.ts';
import { modelSettings } from '#agent/drivers/by-model/settings.ts';

const text = readFileSync(new URL('../../docs/agent.md', import.meta.url), 'utf8');
const chapter = text.split(/^## /m).find((each) => each.startsWith('Devices by model')) ?? '';

describe.each([aiChips, inspurFpgas])('the table of $driver', ({ driver, rows }) => {
  const [, table = ''] = chapter.split(`| \`${driver}\`: model |`);
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

it('the settings that the chapter shows are valid', () => {
  const blocks = [...chapter.matchAll(/^```json\n(.*?)^```$/gms)].map(([, json = '']) => json);
  expect(blocks).toHaveLength(2);
  for (const json of blocks) {
    const { ai_chip: settings } = z.object({ ai_chip: z.unknown() }).parse(JSON.parse(json));
    expect(modelSettings(aiChips).safeParse(settings).error).toBeUndefined();
  }
});
