// Sorting and pages of a table.

export type Sortable = string | number | null | undefined;

export interface Order {
  readonly column: string;
  readonly isDescending: boolean;
}

/** Rows without a value come last, in both directions. */
export function sorted<Row>(
  rows: readonly Row[],
  sortBy: (row: Row) => Sortable,
  isDescending: boolean,
): Row[] {
  const direction = isDescending ? -1 : 1;
  return rows
    .map((row) => ({ row, value: sortBy(row) ?? undefined }))
    .sort((one, other) => {
      if (one.value === undefined || other.value === undefined) {
        return Number(one.value === undefined) - Number(other.value === undefined);
      }
      return direction * compare(one.value, other.value);
    })
    .map(({ row }) => row);
}

const collator = new Intl.Collator('en', { numeric: true });

function compare(one: string | number, other: string | number): number {
  return typeof one === 'number' && typeof other === 'number'
    ? one - other
    : collator.compare(String(one), String(other));
}

interface PageOfRows<Row> {
  readonly rows: readonly Row[];
  /** Counted from 0; at most the last page. */
  readonly page: number;
  readonly pages: number;
}

export function pageOfRows<Row>(rows: readonly Row[], page: number, size: number): PageOfRows<Row> {
  const pages = Math.max(1, Math.ceil(rows.length / size));
  const shown = Math.min(Math.max(page, 0), pages - 1);
  return { rows: rows.slice(shown * size, (shown + 1) * size), page: shown, pages };
}
