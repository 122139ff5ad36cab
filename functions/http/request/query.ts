// Query parameters that several routes share.

import * as z from 'zod';
import { pageMax } from '#core/contracts/api/lists/list-routes.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { Page, RowBudget } from '#core/store/table/index-pages.ts';
import { pageReply } from '#functions/http/links.ts';

export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(pageMax).optional(),
  /** Rows have uuids in lower case. */
  marker: z.guid().toLowerCase().optional(),
  sort_key: z.enum(['created_at', 'uuid']).optional(),
  sort_dir: z.enum(['asc', 'desc']).optional(),
};

export type PageQuery = z.infer<z.ZodObject<typeof pageQuery>>;

export function toPage(query: PageQuery): Page {
  return {
    limit: query.limit ?? pageMax,
    ...present({ marker: query.marker }),
    sortKey: query.sort_key ?? 'created_at',
    sortDir: query.sort_dir ?? 'asc',
  };
}

/** `a,b,c` */
export function commaList<T extends z.ZodType<unknown, string>>(item: T) {
  return z
    .string()
    .transform((text) => text.split(',').filter((part) => part !== ''))
    .pipe(z.array(item));
}

/** What a tenant's filtered list reads: a filter that matches few would read all rows. */
export const tenantBudget: RowBudget = { rows: 4000, rowsWithoutMatch: 40_000 };

interface PageOfUuids {
  readonly base: string;
  /** Below the version, e.g. `/devices`. */
  readonly path: string;
  readonly query: PageQuery;
  /** The rows of the page before a filter that the database does not have. */
  readonly read?: readonly { uuid: string }[];
  /** Where the next page begins, if the page is not full since {@link tenantBudget} is spent. */
  readonly readTo?: string | undefined;
}

/**
 * A page of a collection by uuids: the rows, and a link to the next page if there may be one.
 *
 * @throws InvalidInput if there are no rows, but may be on the next page: clients end at a page
 *   without rows
 */
export function uuidPage<T extends { uuid: string }>(
  collection: string,
  rows: readonly T[],
  at: PageOfUuids,
): Record<string, unknown> {
  const { read = rows, readTo, query } = at;
  if (readTo !== undefined && rows.length === 0) {
    const filters = Object.entries(query).flatMap(([name, value]) =>
      value === undefined || Object.hasOwn(pageQuery, name) ? [] : [name],
    );
    throw new InvalidInput(
      `${filters.join(', ')}: no match among ${tenantBudget.rowsWithoutMatch} that were read; continue with marker=${readTo}.`,
    );
  }
  const isLast = read.length < toPage(query).limit;
  const next = isLast ? readTo : read.at(-1)?.uuid;
  return pageReply(collection, rows, { base: at.base, query, path: `/v2${at.path}` }, next);
}
