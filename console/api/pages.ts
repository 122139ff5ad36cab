// A collection, page by page. A list that breaks off is kept, and read on where it ended.

import { pageMax } from '#core/contracts/api/lists/list-routes.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { Api, Query } from './client.ts';
import { type ApiFailure, asFailure } from './failure.ts';

export interface Listing<Row> {
  readonly rows: readonly Row[];
  /** Marker of the next page; undefined once all is read. */
  readonly next?: string;
  /** Why the rest is missing. */
  readonly failure?: ApiFailure;
  /** Rows are as they were measured since then; of a list that may be of a measurement. */
  readonly measuredAt?: string;
  /** What no device of the cloud has, of a list that says so on its first page. */
  readonly missing?: readonly string[];
}

export interface ListingOf<Row = unknown, Answered = Row> {
  readonly path: string;
  readonly collection: string;
  readonly query?: Query;
  readonly signal?: AbortSignal;
  /** The most rows that are read in one go; all without it. */
  readonly rowsMax?: number;
  /** Rows of the first page, for a reader who waits; without it as many as one answer has. */
  readonly firstPage?: number;
  /** Rows of each page, where a row takes the API long; without it as many as one answer has. */
  readonly pageRows?: number;
  /** Reduces a row, where a whole list of whole rows would fill the memory. */
  readonly keep?: (row: Answered) => Row;
}

/**
 * Reads what follows `before`, page by page.
 *
 * @param onPage what is there so far, after each page but the last
 * @throws ApiFailure if not even the first page can be read
 */
export async function readAll<Row, Answered = Row>(
  api: Api,
  listing: ListingOf<Row, Answered>,
  onPage: (soFar: Listing<Row>) => void = () => undefined,
  before: Listing<Row> = { rows: [] },
): Promise<Listing<Row>> {
  const { path, collection, query = {}, signal, rowsMax = Number.POSITIVE_INFINITY } = listing;
  const {
    pageRows = pageMax,
    firstPage = pageRows,
    keep = (row: Answered) => row as unknown as Row,
  } = listing;
  const end = before.rows.length + rowsMax;
  let rows = before.rows;
  let marker = before.next;
  let { measuredAt, missing } = before;
  for (;;) {
    try {
      const isFirst = rows.length === 0 && marker === undefined;
      const limit = Math.min(isFirst ? firstPage : pageRows, end - rows.length);
      const answer = await api.ask<Readonly<Record<string, unknown>>>('GET', path, {
        query: { ...query, limit, marker },
        ...present({ signal }),
      });
      const page = answer[collection];
      rows = rows.concat(Array.isArray(page) ? (page as Answered[]).map(keep) : []);
      if (typeof answer.measured_at === 'string') measuredAt ??= answer.measured_at;
      if (Array.isArray(answer.missing)) missing ??= answer.missing as string[];
      marker = readMarker(answer[`${collection}_links`]);
    } catch (error) {
      if (rows.length === 0) throw error;
      return { rows, failure: asFailure(error), ...present({ next: marker, measuredAt, missing }) };
    }
    const read = { rows, ...present({ next: marker, measuredAt, missing }) };
    if (marker === undefined || rows.length >= end) return read;
    onPage(read);
  }
}

/** Only the marker: the token goes to no other address than the page's own. */
function readMarker(links: unknown): string | undefined {
  if (!Array.isArray(links)) return undefined;
  const next = (links as { rel?: string; href?: string }[]).find(({ rel }) => rel === 'next');
  return new URL(next?.href ?? '', 'http://api').searchParams.get('marker') ?? undefined;
}
