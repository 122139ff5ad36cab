import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evidenceText, kindText } from '#console/devices/record-text.ts';
import { hostsWith } from '#console/hosts/search.ts';
import { pageOfRows, sorted } from '#console/parts/table/table-order.ts';
import { countsText, countText, reasonsText, shortId } from '#console/parts/text.ts';
import {
  ageText,
  clockText,
  counted,
  dayAfter,
  numberText,
  timeText,
} from '#console/parts/time/time-text.ts';
import { addressOf, parseRoute } from '#console/routes.ts';
import { durationText } from '#core/contracts/api/lists/titles.ts';

it.each([
  ['2026-01-01T00:00:00Z', '2026-01-01T00:00:07.4Z', '7 s'],
  ['2026-01-01T00:00:00Z', '2026-01-01T02:05:00Z', '2 h 5 min'],
  ['2026-01-01T00:00:00Z', '2026-01-03T00:00:30Z', '2 d'],
  ['2026-01-01T00:00:00Z', '2025-01-01T00:00:00Z', '0 s'],
  [null, '2026-01-01T00:00:00Z', undefined],
])('from %s to %s lasts %s', (from, to, text) => {
  expect(durationText(from, to)).toBe(text);
});

it('the number of incidents has a plus while an answer has another page', () => {
  expect(countText({ incidents: [] })).toBe('');
  expect(countText({ incidents: [], incidents_links: [{}] })).toBe('');
  expect(countText({ incidents: [1, 2] })).toBe('2');
  expect(countText({ incidents: [1], incidents_links: [{}] })).toBe('1+');
});

describe('the address of a screen', () => {
  it.each([
    ['#/hosts', { screen: 'hosts', filters: {} }],
    ['', undefined],
    ['#/', undefined],
    ['#/hosts/cmp1.example', { screen: 'hosts', id: 'cmp1.example', filters: {} }],
    ['#/incidents?kind=drift', { screen: 'incidents', filters: { kind: 'drift' } }],
    ['#/devices', undefined],
    ['#/servers', undefined],
    ['#/incidents/one', undefined],
    ['#/unknown', undefined],
    ['#/hosts/cmp1/devices', undefined],
    ['#/hosts/%', { screen: 'hosts', id: '%', filters: {} }],
  ])('%s', (fragment, route) => {
    expect(parseRoute(fragment)).toEqual(route);
  });

  it('leads to what it was made for, whatever the id and the filters are', () => {
    const text = fc.string({ minLength: 1 });
    fc.assert(
      fc.property(text, fc.dictionary(text, text), (id, filters) => {
        fc.pre(
          id.isWellFormed() &&
            Object.entries(filters)
              .flat()
              .every((each) => each.isWellFormed()),
        );
        const route = parseRoute(addressOf('hosts', id, filters));
        expect(route).toEqual({ screen: 'hosts', id, filters: { ...filters } });
      }),
    );
  });

  it('has no filter without a value', () => {
    expect(addressOf('incidents', undefined, { kind: '', host: undefined })).toBe('#/incidents');
  });
});

describe('a table', () => {
  it('sorts texts with numbers by number, and what has no value last in both directions', () => {
    const rows = ['cmp10', null, 'cmp9', undefined, 'cmp1'];
    const by = (row: string | null | undefined) => row;
    expect(sorted(rows, by, false)).toEqual(['cmp1', 'cmp9', 'cmp10', null, undefined]);
    expect(sorted(rows, by, true)).toEqual(['cmp10', 'cmp9', 'cmp1', null, undefined]);
  });

  it('has each row on exactly one page', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.integer({ min: 1, max: 7 }), (rows, size) => {
        const { pages } = pageOfRows(rows, 0, size);
        const shown = Array.from({ length: pages }, (_, page) => pageOfRows(rows, page, size).rows);
        expect(shown.flat()).toEqual(rows);
      }),
    );
  });

  it('shows its last page after rows have gone', () => {
    expect(pageOfRows([1, 2, 3], 9, 2)).toEqual({ rows: [3], page: 1, pages: 2 });
    expect(pageOfRows([], 9, 2)).toEqual({ rows: [], page: 0, pages: 1 });
  });
});

describe('texts', () => {
  it('times are in UTC', () => {
    expect(timeText('2026-11-23T01:32:21.339Z')).toBe('2026-11-23 01:32:21');
    expect(timeText('2026-11-23T01:32:21+00:00')).toBe('2026-11-23 01:32:21');
    expect(timeText('soon')).toBe('soon');
    expect(dayAfter('2026-02-28')).toBe('2026-03-01');
    expect(dayAfter('')).toBe('');
    expect(clockText(Date.parse('2026-11-23T01:32:21Z'))).toBe('01:32:21');
  });

  it.each([
    [-5000, '0 seconds ago'],
    [1000, '1 second ago'],
    [119_000, '1 minute ago'],
    [7_200_000, '2 hours ago'],
    [200_000_000, '2 days ago'],
  ])('%i ms are %s', (ageMs, text) => {
    expect(ageText(ageMs)).toBe(text);
  });

  it('counts, ids, reasons and records', () => {
    expect([counted(1, 'host'), counted(10_000, 'host')]).toEqual(['1 host', '10,000 hosts']);
    expect(shortId('a1a8698a-bef9-50dd-afa1-c5e8814ac6db')).toBe('a1a8698a');
    expect(shortId('FPGA')).toBe('FPGA');
    expect(countsText({ free: 15, claimed: 1, gone: 0 })).toBe('free 15, claimed 1');
    expect(countsText({})).toBe('-');
    expect(reasonsText([{ reason: 'claimed', count: 3 }])).toBe('claimed (3)');
    expect(kindText('handle.claimed')).toBe('Claimed by a server');
    expect(kindText('host.conflict-ended')).toBe('Host conflict ended');
    expect(evidenceText({ reset: 'flr', cleared: true, left: 0, kept: false })).toBe(
      'reset flr, cleared yes, left 0, kept no',
    );
  });

  it('hosts are found by any part of their names', () => {
    const hosts = [{ hostname: 'cmp1.example' }, { hostname: 'CMP2.example' }];
    expect(hostsWith(hosts, ' cmp2 ')).toEqual([hosts[1]]);
    expect(hostsWith(hosts, '')).toEqual(hosts);
  });
});

it.each([
  [0, '0'],
  [0.000347, '0.00035'],
  [0.96, '0.96'],
  [12.34, '12.3'],
  [20000, '20,000'],
])('%d is written as %s', (value, text) => {
  expect(numberText(value)).toBe(text);
});
