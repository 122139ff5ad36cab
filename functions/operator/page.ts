// Pages of the operator's API. A marker names the last row of a page, and the next page begins
// after it.

import * as z from 'zod';
import { pageMax } from '#core/contracts/api/lists/list-routes.ts';

const pageDefault = 100;

/** Hosts that one request reads at a time. */
export const hostsAtOnce = 16;

export const limit = z.coerce.number().int().min(1).max(pageMax).default(pageDefault);

/** An id of a project at Keystone. */
export const projectId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, "must be a project's id at Keystone: letters, digits, - and _");

/** Longer text cannot name a host: DNS allows 253 characters. */
export const hostname = z.string().min(1).max(253);

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Marker of the next page; undefined on the last page. */
  readonly next?: string | undefined;
}

/** A row that was read, and the marker of the page that begins after it. */
export interface Read<Row> {
  readonly marker: string;
  /** Undefined where a filter drops it. */
  readonly row: Row | undefined;
}

interface PageStart {
  readonly limit: number;
  readonly marker: string | undefined;
  /** Entries that one request reads at most. */
  readonly readMax: number;
  /** Entries that one read has; by default as many as the page. */
  readonly atOnce?: number;
}

/**
 * Reads on until the page is full, nothing is left, or one request has read enough: then the page
 * is shorter than its limit, and has a link all the same.
 *
 * @param read the entries after the marker, in the order of the markers; fewer than `count` at the
 *   end
 */
export async function fillPage<Row>(
  { limit: size, marker, readMax, atOnce = size }: PageStart,
  read: (after: string | undefined, count: number) => Promise<readonly Read<Row>[]>,
): Promise<Page<Row>> {
  const rows: Row[] = [];
  let after = marker;
  for (let count = 0; count < readMax; ) {
    const entries = await read(after, atOnce);
    count += entries.length;
    for (const entry of entries) {
      after = entry.marker;
      if (entry.row !== undefined) rows.push(entry.row);
      if (rows.length === size) return { rows, next: after };
    }
    if (entries.length < atOnce) return { rows };
  }
  return { rows, next: after };
}
