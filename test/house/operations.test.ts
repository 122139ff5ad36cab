// What documents show for operators are the tables as they are.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { agentMetrics } from '#agent/report/agent-metrics.ts';
import { eventBusName, eventDetails, eventSource } from '#core/contracts/events.ts';
import { type MetricRow, metrics } from '#core/contracts/metrics.ts';
import { openMetrics } from '#core/domain/fleet/open-metrics.ts';
import { hostWork } from '#core/domain/host-work/host-work.ts';
import type { MetricFamily } from '#core/shapes/fleet.ts';

const textOf = (name: string) =>
  readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');

it('docs/operations/diagnosis.md shows every metric, and no other', () => {
  const rowOf = ({ name, unit, dimension, from, meaning }: MetricRow) => {
    const by = dimension ? `${dimension.name}: ${dimension.values.join(', ')}` : '';
    return `| \`${name}\` | ${unit} | ${by} | \`${from}\` | ${meaning} |`;
  };
  const table = textOf('operations/diagnosis.md').split('| metric |')[1]?.split('\n\n')[0] ?? '';
  expect(table.split('\n').slice(2)).toEqual(metrics.map(rowOf));
});

it.each([
  ['the API', 0, openMetrics],
  ['the agent', 1, agentMetrics],
] as const)('docs/operations/metrics.md shows every metric of %s, and no other', (_of, at, all) => {
  const rowOf = ([name, { type, labels, help }]: [string, MetricFamily]) => {
    const shown = type === 'counter' ? `${name}_total` : name;
    const named = labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${shown}\` | ${type} | ${named} | ${help} |`;
  };
  const table = textOf('operations/metrics.md').split('| metric |')[at + 1]?.split('\n\n')[0];
  expect(table?.split('\n').slice(2)).toEqual(Object.entries(all).map(rowOf));
});

describe('docs/events.md', () => {
  const document = textOf('events.md');
  const sections = document.split(/^## /m);

  it('names the bus and the source', () => {
    expect(document).toContain(`\`${eventBusName('<stage>')}\``);
    expect(document).toContain(`\`${eventSource}\``);
  });

  it('has a section for each event, and no other', () => {
    const titles = sections.slice(2).map((section) => section.split('\n')[0]);
    expect(titles).toEqual(Object.keys(eventDetails));
  });

  it('says what is in each event', () => {
    for (const [type, schema] of Object.entries(eventDetails)) {
      const section = sections.find((each) => each.startsWith(`${type}\n`)) ?? '';
      const { description = '', properties = {} } = z.toJSONSchema(schema, { io: 'input' });
      expect(section, type).toContain(description);
      const rows = Object.entries(properties).map(([name, property]) => rowOf(name, property));
      expect(section.split('\n').filter((line) => line.startsWith('| `'))).toEqual(rows);
    }
  });

  /** Field, what it is, and what it says. */
  function rowOf(name: string, property: unknown): string {
    const of = property as z.core.JSONSchema.JSONSchema;
    const values = of.enum?.join(', ') ?? of.const ?? of.format ?? of.type;
    return `| \`${name}\` | ${values} | ${of.description ?? ''} |`;
  }
});

it('docs/architecture.md shows each kind of host work with its action and deadline', () => {
  const rows = textOf('architecture.md').match(/^\| `[a-z]+` \| `[a-z]+` \|.*$/gm) ?? [];
  const shown = rows.map((row) => row.split('|').map((cell) => cell.trim().replaceAll('`', '')));
  const deadlineOf = (seconds: number | string) =>
    typeof seconds === 'number' ? `${seconds.toLocaleString('en-US')} s` : seconds;
  expect(shown.map((cells) => [cells[1], cells[2], cells[5]])).toEqual(
    Object.entries(hostWork).map(([kind, { jobAction, deadlineSeconds }]) => [
      kind,
      jobAction,
      deadlineOf(deadlineSeconds),
    ]),
  );
});
