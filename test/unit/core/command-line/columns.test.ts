// Tables for people fit their terminal.

import { describe, expect, it } from 'vitest';
import { type Column, cellText, propertyLines, tableLines } from '#core/command-line/columns.ts';

interface Row {
  readonly uuid: string;
  readonly host: string;
  readonly reason: string | null;
}
const columns: readonly Column<Row>[] = [
  { title: 'device', of: (row) => row.uuid, isWhole: true },
  { title: 'host', of: (row) => row.host },
  { title: 'reason', of: (row) => row.reason },
];
const rows: readonly Row[] = [
  { uuid: 'a1a8698a-bef9-50dd-afa1-c5e8814ac6db', host: 'cmp1', reason: 'x'.repeat(200) },
  { uuid: '1273b8c2-e3fa-59fe-931a-306a218c9f73', host: 'a-long-hostname.example', reason: null },
];

describe('a table', () => {
  it('aligns its columns and cuts nothing where the width is unlimited', () => {
    const [head = '', first = '', second = ''] = tableLines(
      columns,
      rows,
      Number.POSITIVE_INFINITY,
    );
    expect(head.indexOf('host')).toBe(first.indexOf('cmp1'));
    expect(head.indexOf('reason')).toBe(second.lastIndexOf('-'));
    expect(first).toContain('x'.repeat(200));
  });

  it.each([200, 120, 80, 64])('fits %i columns, with uuids whole', (width) => {
    const lines = tableLines(columns, rows, width);
    expect(lines).toHaveLength(3);
    for (const line of lines) expect([...line].length).toBeLessThanOrEqual(width);
    for (const { uuid } of rows) expect(lines.join('\n')).toContain(uuid);
    expect(lines[1]).toMatch(/x…$/);
  });

  it('becomes properties where the whole columns alone are too wide', () => {
    const lines = tableLines(columns, rows, 50);
    expect(lines).toHaveLength(2 * columns.length + 1);
    expect(lines[0]).toBe(`device  ${rows[0]?.uuid}`);
    for (const line of lines) expect([...line].length).toBeLessThanOrEqual(50);
  });

  it('says so when it has no rows', () => {
    expect(tableLines(columns, [], 80)).toEqual(['None.']);
  });
});

describe('a property', () => {
  const reason = 'Repair the device, then enable it.';
  const row = { uuid: 'a1a8698a-bef9-50dd-afa1-c5e8814ac6db', host: 'h', reason };

  it('goes on below its value where the line is too short', () => {
    expect(propertyLines(columns, row, 30)).toEqual([
      `device  ${row.uuid}`,
      'host    h',
      'reason  Repair the device,',
      '        then enable it.',
    ]);
  });
});

it('a column that is optional is shown where a row has a value', () => {
  const optional = columns.map((each) => ({ ...each, isOptional: each.title === 'reason' }));
  const [first, second] = rows.map((row) => [row]) as [Row[], Row[]];
  expect(tableLines(optional, first, 300)[0]).toContain('reason');
  expect(tableLines(optional, second, 300)[0]).not.toContain('reason');
  expect(tableLines(optional, rows, 50).filter((line) => line.startsWith('reason'))).toHaveLength(
    1,
  );
});

describe('a cell', () => {
  it.each([
    [null, '-'],
    [undefined, '-'],
    ['', '-'],
    [0, '0'],
    [false, 'no'],
    [[], '-'],
    [['a', 1], 'a, 1'],
    [{ held: null, free: 2 }, 'free=2 held=-'],
    ['2026-11-23T00:37:58+00:00', '2026-11-23T00:37:58Z'],
    ['2026-11-23T00:37:58.123Z', '2026-11-23T00:37:58Z'],
    ['2026-11-23T00:37:58+01:00', '2026-11-23T00:37:58+01:00'],
  ])('of %j is %s', (value, text) => {
    expect(cellText(value)).toBe(text);
  });

  it('has no escape sequence, line break or direction mark of a host', () => {
    expect(cellText('\u001b[31mred\u001b[0m\r\nnext\u202e\u2028')).toBe(' [31mred [0m next ');
  });
});
