// The operator's handbook shows the tables as they are.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type MetricRow, metrics } from '#core/contracts/metrics.ts';

const handbook = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');

it('docs/operations.md shows every metric, and no other', () => {
  const rowOf = ({ name, unit, dimension, from, meaning }: MetricRow) => {
    const by = dimension ? `${dimension.name}: ${dimension.values.join(', ')}` : '';
    return `| \`${name}\` | ${unit} | ${by} | \`${from}\` | ${meaning} |`;
  };
  const table = handbook.split('| metric |')[1]?.split('\n\n')[0] ?? '';
  expect(table.split('\n').slice(2)).toEqual(metrics.map(rowOf));
});
