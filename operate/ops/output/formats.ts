// The forms in which the result of a verb is printed.

import { stringify } from 'yaml';
import {
  type Column,
  cellText,
  noValue,
  propertyLines,
  tableLines,
} from '#core/command-line/columns.ts';
import { nearest } from '#core/command-line/nearest.ts';
import { jsonText } from '#core/command-line/print.ts';
import { csvCell } from '#core/shapes/derive/csv.ts';
import type { Input } from '#operate/command.ts';
import { type Shown, type ShownTable, wrongUsage } from '#operate/ops/verb.ts';

export const formats = ['table', 'json', 'yaml', 'csv', 'value'] as const;

export function formatOf(input: Input): string {
  return input.has('json') ? 'json' : (input.text('format') ?? 'table');
}

/** @throws CommandFailed for a column that there is not, or a format without columns to fill it */
export function printedLines(shown: Shown, input: Input, width: number): readonly string[] {
  const format = formatOf(input);
  const titles = input.all('column');
  const { table, lines } = shown;
  if (!table) {
    if (titles.length > 0 || format === 'csv' || format === 'value') {
      throw wrongUsage('The result has no columns: --format must be table, json or yaml.');
    }
    return documentLines(format, shown.json) ?? lines(width);
  }
  const columns = chosenColumns(table, titles, format === 'table' && !input.has('wide'));
  const document = titles.length > 0 ? table.rows.map((row) => record(columns, row)) : shown.json;
  return documentLines(format, document) ?? rowLines(format, table, columns, width);
}

function documentLines(format: string, document: unknown): readonly string[] | undefined {
  if (format === 'json') return [jsonText(document)];
  return format === 'yaml' ? [stringify(document).trimEnd()] : undefined;
}

function rowLines(
  format: string,
  { rows, head = [], foot = [], isOne = false }: ShownTable,
  columns: readonly Column<unknown>[],
  width: number,
): readonly string[] {
  const texts = () => rows.map((row) => columns.map(({ of }) => cellText(of(row))));
  if (format === 'value') return texts().map((line) => line.join(' '));
  if (format === 'csv') {
    return [columns.map(({ title }) => title), ...texts()].map((line) =>
      line.map(textCell).join(','),
    );
  }
  const [first] = rows;
  return isOne && first !== undefined
    ? propertyLines(columns, first, width)
    : [...head, ...tableLines(columns, rows, width), ...foot];
}

/** @param isNarrow without the columns that are shown with `--wide` only */
function chosenColumns(
  { columns, isOne = false }: ShownTable,
  titles: readonly string[],
  isNarrow: boolean,
): readonly Column<unknown>[] {
  const isShown = ({ isApart, isWide }: Column<unknown>) =>
    isOne || !(isApart || (isNarrow && isWide));
  if (titles.length === 0) return columns.filter(isShown);
  return titles.map((title) => {
    const named = columns.find((column) => plain(column.title) === plain(title));
    if (named) return { ...named, isApart: false, isOptional: false };
    const allowed = columns.map((column) => column.title);
    throw wrongUsage(
      `Unknown column ${title}${nearest(title, allowed)} it must be one of ${allowed.join(', ')}.`,
    );
  });
}

/** `Last report`, `last-report` and `last_report` name one column. */
function plain(title: string): string {
  return title.toLowerCase().replaceAll(/[-_]/g, ' ');
}

function record(columns: readonly Column<unknown>[], row: unknown) {
  return Object.fromEntries(columns.map(({ title, of }) => [title, of(row) ?? null]));
}

function textCell(text: string): string {
  return text === noValue ? '' : csvCell(text);
}
