// A list that is read again every few seconds, in full or up to a number of rows, and the notice
// of a list that ends too early.

import { useState } from 'preact/hooks';
import { type Listing, type ListingOf, readAll } from '#console/api/pages.ts';
import { Notice } from '#console/parts/notice.tsx';
import { counted } from '#console/parts/time/time-text.ts';
import { type Live, useLive } from '#console/parts/use-live.ts';
import { type ListName, type ListRow, lists } from '#core/contracts/api/lists/lists.ts';
import { present } from '#core/shapes/derive/present.ts';

export interface LiveList<Row> extends Live<Listing<Row>> {
  readonly rows: readonly Row[];
  readonly more: () => void;
}

interface ListOptions<Row, Answered>
  extends Omit<ListingOf<Row, Answered>, 'signal' | 'rowsMax' | 'firstPage'> {
  readonly everyMs: number;
  /** Nothing is read yet: something else comes first. */
  readonly isWaiting?: boolean;
  /** Rows that are shown unless the user asks for more; all without it. */
  readonly rowsMax?: number;
}

const noRows: readonly never[] = [];

/** Rows of the first page, after which the first view is shown. */
const firstPage = 100;

export function useLiveList<Row, Answered = Row>(
  options: ListOptions<Row, Answered>,
): LiveList<Row> {
  const { everyMs, path, query, rowsMax: step, isWaiting = false, ...rest } = options;
  const key = JSON.stringify([path, query]);
  const [extent, setExtent] = useState({ key, rows: step });
  const rowsMax = extent.key === key ? extent.rows : step;
  const timing = { everyMs, isWaiting };
  const live = useLive<Listing<Row>>(key, timing, async ({ session, signal, show, last }) => {
    const first = last ? undefined : firstPage;
    const listing = { ...rest, path, signal, ...present({ query, rowsMax, firstPage: first }) };
    const read = await readAll<Row, Answered>(session.api, listing, atTimes(show));
    // An older list that is longer says more than half of a new one.
    if (read.failure && last && last.rows.length >= read.rows.length) throw read.failure;
    return read;
  });
  const more = () => {
    const { data, refresh } = live;
    if (step && data && !data.failure) setExtent({ key, rows: data.rows.length + step });
    // The reading that follows takes the number that is set here.
    setTimeout(refresh);
  };
  return { ...live, rows: live.data?.rows ?? noRows, more };
}

/** One of the lists of operators. */
export function useList<Name extends ListName, Row = ListRow<Name>>(
  name: Name,
  options: Omit<ListOptions<Row, ListRow<Name>>, 'path' | 'collection'>,
): LiveList<Row> {
  return useLiveList({ path: lists[name].path, collection: name, ...options });
}

/** A list of many pages is shown as it grows, but not with each page: that would take longest. */
const showEveryMs = 400;

function atTimes<T>(show: (value: T) => void): (value: T) => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (value) => {
    if (performance.now() - lastMs < showEveryMs) return;
    show(value);
    lastMs = performance.now();
  };
}

/** @param row `host` of `1 host` */
export function PartialList({
  list,
  row,
}: {
  readonly list: LiveList<unknown>;
  readonly row: string;
}) {
  const { data, isFirst, more } = list;
  if (data?.next === undefined) return null;
  const shown = `These are the first ${counted(data.rows.length, row)}`;
  if (isFirst) return <Notice tone="information">{`${shown}; the rest is being read.`}</Notice>;
  const action = { title: 'Read on', run: more };
  if (!data.failure) return <Notice tone="information" action={action}>{`${shown}.`}</Notice>;
  return (
    <Notice tone="warning" action={action}>
      {`${shown} only. The rest could not be read: ${data.failure.message}`}
    </Notice>
  );
}
