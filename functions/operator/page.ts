// Pages of the operator's API. A marker is what the last row of a page is named by, and the next
// page begins after it.

import * as z from 'zod';
import type { Link } from '#functions/http/links.ts';

const pageDefault = 100;
const pageMax = 1000;

export const limit = z.coerce.number().int().min(1).max(pageMax).default(pageDefault);

/** Longer text is no name of a host: DNS allows 253 characters. */
export const hostname = z.string().min(1).max(253);

export interface PageAt {
  readonly base: string;
  /** Below the version, e.g. `/hosts`. */
  readonly path: string;
  readonly query: Readonly<Record<string, unknown>>;
}

/** @param next where the next page begins; undefined on the last page */
export function pageReply(
  collection: string,
  rows: readonly unknown[],
  { base, path, query }: PageAt,
  next: string | undefined,
): Record<string, unknown> {
  if (next === undefined) return { [collection]: rows };
  const parameters = Object.entries({ ...query, marker: next })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  const href = `${base}/accelerator/operator/v1${path}?${parameters.join('&')}`;
  const link: Link = { href, rel: 'next' };
  return { [collection]: rows, [`${collection}_links`]: [link] };
}

/** A row that was read, and the marker of the page that begins after it. */
export interface Read<Row> {
  readonly marker: string;
  /** Undefined where a filter drops it. */
  readonly row: Row | undefined;
}

/**
 * Reads on until the page is full, nothing is left, or one request has read enough: then the page
 * is shorter than its limit, and has a link all the same.
 *
 * @param read what follows the marker, in the order of the markers; fewer than `count` at the end
 */
export async function fillPage<Row>(
  { limit: wanted, marker, readMax }: { limit: number; marker?: string; readMax: number },
  read: (after: string | undefined, count: number) => Promise<readonly Read<Row>[]>,
): Promise<{ readonly rows: readonly Row[]; readonly next?: string }> {
  const rows: Row[] = [];
  let after = marker;
  for (let count = 0; count < readMax; ) {
    const found = await read(after, wanted);
    count += found.length;
    for (const each of found) {
      after = each.marker;
      if (each.row !== undefined) rows.push(each.row);
      if (rows.length === wanted) return { rows, next: after };
    }
    if (found.length < wanted) return { rows };
  }
  return { rows, ...(after !== undefined && { next: after }) };
}
