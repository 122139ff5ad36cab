// Query parameters that several routes share.

import * as z from 'zod';
import type { Page } from '#core/store/table/index-pages.ts';
import type { Link } from './links.ts';

/** The most rows of one answer, whatever limit is asked for. */
const pageMax = 1000;

export const noQuery = z.strictObject({});

export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(pageMax).optional(),
  /** Rows have uuids in lower case. */
  marker: z.guid().toLowerCase().optional(),
  sort_key: z.enum(['created_at', 'uuid']).optional(),
  sort_dir: z.enum(['asc', 'desc']).optional(),
};

export type PageQuery = z.infer<z.ZodObject<typeof pageQuery>>;

export function pageOf(query: PageQuery): Page {
  return {
    limit: query.limit ?? pageMax,
    ...(query.marker && { marker: query.marker }),
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
 * A page of a collection: the rows, and a link to the next page if there may be one.
 *
 * @param at.path below the version, e.g. `/devices`
 * @param at.read the rows of the page before a filter that the database does not have
 */
export function pageReply<T extends { uuid: string }>(
  collection: string,
  rows: readonly T[],
  at: { base: string; path: string; query: PageQuery; read?: readonly { uuid: string }[] },
): Record<string, unknown> {
  const read = at.read ?? rows;
  const last = read.at(-1);
  const { limit } = pageOf(at.query);
  if (!last || read.length < limit) return { [collection]: rows };
  const parameters = Object.entries({ ...at.query, marker: last.uuid })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  const next: Link = {
    href: `${at.base}/accelerator/v2${at.path}?${parameters.join('&')}`,
    rel: 'next',
  };
  return { [collection]: rows, [`${collection}_links`]: [next] };
}
