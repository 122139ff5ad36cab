// Query parameters that several routes share.

import * as z from 'zod';
import { pageMax } from '#core/contracts/api/list-routes.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { Page } from '#core/store/table/index-pages.ts';
import { pageReply } from './links.ts';

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

/**
 * A page of a collection by uuids: the rows, and a link to the next page if there may be one.
 *
 * @param at.path below the version, e.g. `/devices`
 * @param at.read the rows of the page before a filter that the database does not have
 */
export function uuidPage<T extends { uuid: string }>(
  collection: string,
  rows: readonly T[],
  at: { base: string; path: string; query: PageQuery; read?: readonly { uuid: string }[] },
): Record<string, unknown> {
  const { read = rows, query } = at;
  const isLast = read.length < toPage(query).limit;
  const next = isLast ? undefined : read.at(-1)?.uuid;
  return pageReply(collection, rows, { ...at, path: `/v2${at.path}` }, next);
}
