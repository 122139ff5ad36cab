// The forms in which a verb shows the API's answer.

import type { Column } from '#core/command-line/columns.ts';
import type { Shown, ShownTable } from '#operate/ops/verb.ts';

/** Rows as the API's document and as a table. */
export function shownRows<Row>(
  collection: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): Shown {
  return { json: { [collection]: rows }, table: tableOf(columns, rows) };
}

export function shownOne<Row>(columns: readonly Column<Row>[], row: Row): Shown {
  return { json: row, table: { ...tableOf(columns, [row]), isOne: true } };
}

export function tableOf<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  around: Pick<ShownTable, 'head' | 'foot'> = {},
): ShownTable {
  return { columns: columns as readonly Column<unknown>[], rows, ...around };
}

/** The result in a sentence; the API's answer for scripts. */
export function shownDone(sentence: string, answer: unknown): Shown {
  return { json: answer ?? {}, lines: () => [sentence] };
}

/** `1 device`, `2 devices`. */
export function counted(count: number, singular: string): string {
  return `${count} ${singular}${count === 1 ? '' : 's'}`;
}

/** The API's word for a device that an operator has disabled is deployed Cyborg's. */
export function shownStatus(status: string | null | undefined): string | null | undefined {
  return status === 'maintaining' ? 'disabled' : status;
}
