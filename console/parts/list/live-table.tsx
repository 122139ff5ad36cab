// A list as a table, with the time of its data and a notice of missing rows.

import { Table, type TableProps } from '#console/parts/table/table.tsx';
import { Freshness } from '#console/parts/time/freshness.tsx';
import { type LiveList, PartialList } from './live-list.tsx';

interface LiveTableProps<Row, Shown> extends Omit<TableProps<Shown>, 'rows' | 'name'> {
  readonly list: LiveList<Row>;
  /** `host`, for a list of hosts. */
  readonly row: string;
  /** Title of the table; the plural of `row` without it. */
  readonly name?: string;
  readonly rows: readonly Shown[];
}

export function LiveTable<Row, Shown>({ list, row, ...table }: LiveTableProps<Row, Shown>) {
  const plural = `${row}s`;
  const name = plural.charAt(0).toUpperCase() + plural.slice(1);
  return (
    <>
      <Freshness live={list} subject={plural} />
      <PartialList list={list} row={row} />
      {list.data && <Table name={name} {...table} />}
    </>
  );
}
