// Pages of an index, each of one partition in the order of its sort key.

import type { QueryCommandInput } from '@aws-sdk/lib-dynamodb';
import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { present } from '#core/shapes/derive/present.ts';
import type { Row } from '#core/store/rows/rows.ts';
import type { Documents } from './documents.ts';
import { MarkerNotFound } from './marker-not-found.ts';

export interface Page {
  readonly limit: number;
  /** Uuid of the last row of the page before. */
  readonly marker?: string;
  readonly sortKey: 'created_at' | 'uuid';
  readonly sortDir: 'asc' | 'desc';
}

type PageOrder = Pick<Page, 'limit' | 'sortDir'>;

export interface IndexPage {
  readonly table: string;
  readonly index: string;
  readonly partition: readonly [attribute: string, value: string];
  /** Sort attribute, and the value after which the page begins. */
  readonly sort: readonly [attribute: string, after: string | undefined];
  /** Path → value, all of which must be equal. A list of `projects` must have it, or be absent. */
  readonly filter: Readonly<Record<string, string>>;
}

export async function pageOfKind(
  client: Documents,
  table: string,
  kind: string,
  page: Page,
  filter: Readonly<Record<string, string>>,
  byUuid: (uuid: string) => Promise<Row | undefined>,
  budget = unlimited,
): Promise<BudgetedPage> {
  const at: IndexPage = {
    table,
    index: page.sortKey === 'uuid' ? 'by-kind' : 'by-created',
    partition: ['kind', kind],
    sort: await startOf(page, byUuid),
    filter,
  };
  return budgetedPageOfIndex(client, page, at, budget);
}

/** The page of rows of a kind that are few enough to be read whole. */
export async function pageOfRows(
  rows: readonly Row[],
  page: Page,
  byUuid: (uuid: string) => Promise<Row | undefined>,
): Promise<Row[]> {
  const [attribute, after] = await startOf(page, byUuid);
  const isAscending = page.sortDir === 'asc';
  const isBefore = (one: string, other: string) => (isAscending ? one < other : one > other);
  const keyed = rows.map((row) => ({ row, key: String(row[attribute]) }));
  return keyed
    .filter(({ key }) => after === undefined || isBefore(after, key))
    .sort((one, other) => (isBefore(one.key, other.key) ? -1 : 1))
    .slice(0, page.limit)
    .map(({ row }) => row);
}

/** The sort attribute, and its value in the row of the marker. @throws MarkerNotFound */
async function startOf(
  { sortKey, marker }: Page,
  byUuid: (uuid: string) => Promise<Row | undefined>,
): Promise<IndexPage['sort']> {
  const attribute = sortKey === 'uuid' ? 'uuid' : 'created_key';
  if (marker === undefined) return [attribute, undefined];
  const row = await byUuid(marker);
  if (!row) throw new MarkerNotFound(marker);
  return [attribute, String(row[attribute])];
}

/** Rows of a kind in the order of their uuids, those beyond the given one. */
export function pageByUuid(
  client: Documents,
  table: string,
  kind: string,
  beyond: string | undefined,
  { limit, sortDir = 'asc' }: Pick<Page, 'limit'> & Partial<Page>,
): Promise<Row[]> {
  return pageOfIndex(
    client,
    { limit, sortDir },
    { table, index: 'by-kind', partition: ['kind', kind], sort: ['uuid', beyond], filter: {} },
  );
}

/** Rows of one read at most; DynamoDB ends it at a megabyte, too. */
const rowsReadMax = 1000;
/** Each read is larger than the last, so that a filter that matches few rows takes few reads. */
const readGrowth = 4;

/** After that many rows no further read begins, though the page is not full. */
export interface RowBudget {
  readonly rows: number;
  /** While no row matches: clients take a page without rows for the end. */
  readonly rowsWithoutMatch: number;
}

const unlimited: RowBudget = {
  rows: Number.POSITIVE_INFINITY,
  rowsWithoutMatch: Number.POSITIVE_INFINITY,
};

/** A page that may have ended before its limit, because the budget of its reads was spent. */
export interface BudgetedPage {
  readonly rows: Row[];
  /** Key of the last row that was read, if rows beyond it are not. */
  readonly readTo?: Row;
}

export async function pageOfIndex(
  client: Documents,
  page: PageOrder,
  at: IndexPage,
): Promise<Row[]> {
  return (await budgetedPageOfIndex(client, page, at, unlimited)).rows;
}

/** Reads on until the page is full: a filter drops rows only after DynamoDB has read them. */
async function budgetedPageOfIndex(
  client: Documents,
  page: PageOrder,
  at: IndexPage,
  budget: RowBudget,
): Promise<BudgetedPage> {
  const rows: Row[] = [];
  let from: Row | undefined;
  let Limit = page.limit;
  let rowsRead = 0;
  const isSpent = () => rowsRead >= (rows.length > 0 ? budget.rows : budget.rowsWithoutMatch);
  do {
    const query = { ...indexQuery(page, at), Limit, ...present({ ExclusiveStartKey: from }) };
    const answer = await client.send(new QueryCommand(query));
    rows.push(...(answer.Items ?? []));
    from = answer.LastEvaluatedKey;
    rowsRead += answer.ScannedCount ?? Limit;
    Limit = Math.max(page.limit, Math.min(rowsReadMax, Limit * readGrowth));
  } while (from && rows.length < page.limit && !isSpent());
  const isFull = rows.length >= page.limit;
  return { rows: rows.slice(0, page.limit), ...(!isFull && present({ readTo: from })) };
}

function indexQuery(
  page: PageOrder,
  { table, index, partition, sort, filter }: IndexPage,
): QueryCommandInput {
  const names: Record<string, string> = { '#partition': partition[0] };
  const values: Record<string, string> = { ':partition': partition[1] };
  const [sortAttribute, after] = sort;
  if (after !== undefined) {
    names['#sort'] = sortAttribute;
    values[':after'] = after;
  }
  const filters = Object.entries(filter).map(([path, value], index) => {
    values[`:f${index}`] = value;
    const parts = path.split('.').map((part) => {
      names[`#${part}`] = part;
      return `#${part}`;
    });
    const name = parts.join('.');
    return path === 'projects'
      ? `(attribute_not_exists(${name}) OR contains(${name}, :f${index}))`
      : `${name} = :f${index}`;
  });
  const beyond = page.sortDir === 'asc' ? '>' : '<';
  return {
    TableName: table,
    IndexName: index,
    KeyConditionExpression:
      after === undefined
        ? '#partition = :partition'
        : `#partition = :partition AND #sort ${beyond} :after`,
    ...(filters.length > 0 && { FilterExpression: filters.join(' AND ') }),
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: values,
    ScanIndexForward: page.sortDir === 'asc',
  };
}
