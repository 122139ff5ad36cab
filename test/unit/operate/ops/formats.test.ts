// The forms of a result, and the columns that a caller chooses.

import { describe, expect, it } from 'vitest';
import type { Input } from '#operate/command.ts';
import { printedLines } from '#operate/ops/output/formats.ts';
import { tableOf } from '#operate/ops/output/shown.ts';

interface Row {
  readonly host: string;
  readonly reason?: string;
  readonly seen?: number;
}

const rows: readonly Row[] = [{ host: 'cmp1', reason: 'ECC, "hard"', seen: 3 }, { host: 'cmp2' }];
const columns = [
  { title: 'host', of: (row: Row) => row.host },
  { title: 'reason', of: (row: Row) => row.reason },
  { title: 'last seen', of: (row: Row) => row.seen, isWide: true },
  { title: 'boot', of: () => 'b1', isApart: true },
];
const shown = { json: { hosts: rows }, table: tableOf(columns, rows, { foot: ['2 hosts'] }) };
const done = { json: { state: 'done' }, lines: () => ['It is done.'] };

function lines(given: Readonly<Record<string, string | true>>, titles: string[] = [], of = shown) {
  const input: Partial<Input> = {
    has: (name) => name in given,
    text: (name) => (typeof given[name] === 'string' ? given[name] : undefined),
    all: () => titles,
  };
  return printedLines(of, input as Input, 100);
}

describe('a table', () => {
  it('has neither the wide columns nor those of one row', () => {
    expect(lines({})).toEqual(['host  reason', 'cmp1  ECC, "hard"', 'cmp2  -', '2 hosts']);
  });

  it('has the wide columns if it is asked for them', () => {
    expect(lines({ wide: true })[0]).toBe('host  reason       last seen');
  });

  it('has the chosen columns in their order, those of one row, too', () => {
    expect(lines({}, ['BOOT', 'last-seen']).slice(0, 2)).toEqual(['boot  last seen', 'b1    3']);
  });
});

describe('for programs', () => {
  it('json and yaml are the document of the API', () => {
    expect(JSON.parse(lines({ format: 'json' })[0] ?? '')).toEqual({ hosts: rows });
    expect(lines({ json: true })).toEqual(lines({ format: 'json' }));
    expect(lines({ format: 'yaml' })[0]).toMatch(/^hosts:\n {2}- host: cmp1\n/);
  });

  it('json has the chosen columns only', () => {
    expect(JSON.parse(lines({ format: 'json' }, ['host', 'reason'])[0] ?? '')).toEqual([
      { host: 'cmp1', reason: 'ECC, "hard"' },
      { host: 'cmp2', reason: null },
    ]);
  });

  it('csv quotes, has the wide columns, and nothing where there is none', () => {
    expect(lines({ format: 'csv' })).toEqual([
      'host,reason,last seen',
      'cmp1,"ECC, ""hard""",3',
      'cmp2,,',
    ]);
  });

  it.each([
    ["=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"],
    ['=HYPERLINK("http://x","y")', '"\'=HYPERLINK(""http://x"",""y"")"'],
    ['+1', "'+1"],
    ['-1+cmd', "'-1+cmd"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['-1.5', '-1.5'],
  ])('csv gets %j as a text that no spreadsheet calculates', (reason, cell) => {
    const one = { ...shown, table: tableOf(columns, [{ host: 'cmp1', reason }]) };
    const [, row] = lines({ format: 'csv' }, ['reason'], one);
    expect(row).toBe(cell);
  });

  it('value has the cells without a head', () => {
    expect(lines({ format: 'value' }, ['host', 'last seen'])).toEqual(['cmp1 3', 'cmp2 -']);
  });
});

it('an unknown column is refused with those that there are', () => {
  expect(() => lines({}, ['hst'])).toThrow(
    'Unknown column hst (did you mean host?): it must be one of host, reason, last seen, boot.',
  );
});

it('a sentence has no columns', () => {
  expect(lines({}, [], done as never)).toEqual(['It is done.']);
  const refusal = 'The result has no columns: --format must be table, json or yaml.';
  for (const format of ['csv', 'value']) {
    expect(() => lines({ format }, [], done as never)).toThrow(refusal);
  }
  expect(() => lines({}, ['host'], done as never)).toThrow(refusal);
});
