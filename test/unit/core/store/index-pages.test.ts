import type { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { expect, it } from 'vitest';
import type { Documents } from '#core/store/table/documents.ts';
import { pageOfIndex } from '#core/store/table/index-pages.ts';

/** An index of that many rows, none of which passes the filter. */
function indexOf(rows: number) {
  const limits: number[] = [];
  let left = rows;
  const send = async ({ input }: QueryCommand) => {
    limits.push(input.Limit ?? 0);
    left -= input.Limit ?? rows;
    return { Items: [], ...(left > 0 && { LastEvaluatedKey: { pk: String(left) } }) };
  };
  return { client: { send } as unknown as Documents, limits };
}

const at = {
  table: 'inventory',
  index: 'by-kind',
  partition: ['kind', 'device'] as const,
  sort: ['uuid', undefined] as const,
  filter: { vendor_id: 'none' },
};

it('a short page with a filter that matches nothing takes few reads', async () => {
  const { client, limits } = indexOf(20_000);
  expect(await pageOfIndex(client, { limit: 1, sortDir: 'asc' }, at)).toEqual([]);
  expect(limits.slice(0, 7)).toEqual([1, 4, 16, 64, 256, 1000, 1000]);
  expect(limits).toHaveLength(25);
});
