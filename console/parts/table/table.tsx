// A table that shows a page of its rows: the document stays small, however many there are.

import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Icon } from '#console/parts/icon.tsx';
import { None } from '#console/parts/status.tsx';
import { numberText } from '#console/parts/time/time-text.ts';
import { type Order, pageOfRows, type Sortable, sorted } from './table-order.ts';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly sortBy?: (row: Row) => Sortable;
  readonly isNumber?: boolean;
}

export interface TableProps<Row> {
  /** Its accessible name. */
  readonly name: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row, index: number) => string;
  readonly order?: Order;
  readonly empty: string;
}

const pageSize = 50;

export function Table<Row>(props: TableProps<Row>) {
  const { name, rows, columns, keyOf, empty } = props;
  const [order, setOrder] = useState<Order | undefined>(props.order);
  const [requestedPage, setPage] = useState(0);
  const inOrder = useMemo(() => {
    const by = columns.find(({ title }) => title === order?.column)?.sortBy;
    return order && by ? sorted(rows, by, order.isDescending) : rows;
    // The columns of a table differ in their cells only.
  }, [rows, order]);
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  const { rows: shown, page, pages } = pageOfRows(inOrder, requestedPage, pageSize);
  return (
    <div class="table">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by the keyboard. */}
      <section class="scroll" aria-label={`${name}, table`} tabIndex={0}>
        <table aria-label={name}>
          <thead>
            <tr>
              {columns.map((column) => (
                <ColumnHead key={column.title} column={column} order={order} onOrder={setOrder} />
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, index) => (
              <tr key={keyOf(row, index)}>
                {columns.map(({ title, cell, isNumber }) => (
                  <td key={title} class={isNumber ? 'number' : undefined} data-title={title}>
                    {cell(row) ?? <None />}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {pages > 1 && (
        <nav class="pages" aria-label={`Pages of ${name}`}>
          <button type="button" disabled={page === 0} onClick={() => setPage(page - 1)}>
            Previous
          </button>
          <span>
            {numberText(page * pageSize + 1)} to {numberText(page * pageSize + shown.length)} of{' '}
            {numberText(rows.length)}
          </span>
          <button type="button" disabled={page >= pages - 1} onClick={() => setPage(page + 1)}>
            Next
          </button>
        </nav>
      )}
    </div>
  );
}

interface ColumnHeadProps<Row> {
  readonly column: Column<Row>;
  readonly order: Order | undefined;
  readonly onOrder: (order: Order) => void;
}

function ColumnHead<Row>({ column, order, onOrder }: ColumnHeadProps<Row>) {
  const { title, sortBy, isNumber } = column;
  const ownOrder = order?.column === title ? order : undefined;
  const direction = ownOrder && (ownOrder.isDescending ? 'descending' : 'ascending');
  return (
    <th scope="col" class={isNumber ? 'number' : undefined} aria-sort={direction}>
      {sortBy ? (
        <button
          type="button"
          class="sort"
          onClick={() =>
            onOrder({ column: title, isDescending: ownOrder ? !ownOrder.isDescending : false })
          }
        >
          {title} {direction && <Icon name={direction} />}
        </button>
      ) : (
        title
      )}
    </th>
  );
}
