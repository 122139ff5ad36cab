import { expect, it } from 'vitest';
import type { HistoryRecord } from '#core/domain/history/history.ts';
import { historyRow, shortHistoryRow, toRecord } from '#core/store/rows/history-rows.ts';

const record: HistoryRecord = {
  id: 'c607cfb9-69b8-5dc7-ac8e-f49862eb2564',
  at: '2026-11-27T16:02:53.432Z',
  kind: 'handle.released',
  from: 'claimed',
  to: 'free',
  since: '2026-11-27T16:02:53.358Z',
  hostname: 'cmp1',
  deviceUuid: 'a1a8698a-bef9-50dd-afa1-c5e8814ac6db',
  resourceClass: 'FPGA',
  arqUuid: '01a21dbe-cd28-755a-8acb-cd1f478f31df',
  arqUuids: ['01a21dbe-cd28-755a-8acb-cd1f478f31df'],
  projectId: '1888ad8b145368b77b4f9dcf1a02f152',
  by: 'user:2c5e34efd818ba04d2cde215585e1015',
};
const host = { subject: 'host', key: 'cmp1' } as const;

it.each([
  ['with short names', shortHistoryRow],
  ['with long names', historyRow],
])('a record comes back from a row %s', (_, toRow) => {
  expect(toRecord(toRow(record, host, 400), host)).toEqual(record);
});

it('a short row has keys, the end and what the filters name, in less than half of the bytes', () => {
  const row = shortHistoryRow(record, host, 400);
  const size = (values: object) =>
    Object.entries(values).reduce(
      (sum, [name, value]) => sum + name.length + (value.length ?? 8),
      0,
    );
  const { pk, sk, expires_at, ...short } = row;
  const { pk: _, sk: _sk, expires_at: _end, ...long } = historyRow(record, host, 400);
  expect([pk, sk, expires_at]).toEqual([
    'HOST#cmp1',
    `${record.at}#${record.id}`,
    Math.floor(Date.parse(record.at) / 1000) + 400 * 86_400,
  ]);
  expect(size(short)).toBeLessThan(size(long) / 2);
});
