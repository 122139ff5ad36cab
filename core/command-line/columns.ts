// Lines for people: aligned columns that fit the terminal, and properties below one another where
// they cannot.

import { printable } from '#core/command-line/print.ts';
import type { Title } from '#core/contracts/api/lists/titles.ts';

/** A place in the table as {@link Title} names it, and the value of a row. */
export interface Column<Row> {
  readonly title: string;
  readonly of: (row: Row) => unknown;
  readonly isWhole?: boolean;
  readonly isOptional?: boolean;
  readonly isApart?: boolean;
  readonly isWide?: boolean;
}

/** The value of a field, or columns in its place. */
export type Cell<Row> = ((row: Row) => unknown) | readonly Column<Row>[];

/** The columns of each field that has a title, in their order. */
export function columnsOf<Name extends string, Row extends { readonly [Each in Name]?: unknown }>(
  titles: Readonly<Record<Name, Title>>,
  cells: { readonly [Each in NoInfer<Name>]?: Cell<Row> } = {},
): readonly Column<Row>[] {
  return (Object.keys(titles) as Name[]).flatMap((name) => {
    const cell: Cell<Row> = cells[name] ?? ((row) => row[name]);
    if (typeof cell !== 'function') return cell;
    const title: Title = titles[name];
    return [{ ...(typeof title === 'string' ? { title } : title), of: cell }];
  });
}

const gap = '  ';
const narrowest = 8;

/** The lines of a table. Rows that do not fit the width are shown as properties. */
export function tableLines<Row>(
  all: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): readonly string[] {
  if (rows.length === 0) return ['None.'];
  const columns = visibleColumns(
    all.filter(({ isApart }) => !isApart),
    rows,
  );
  const cells = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ of }) => cellText(of(row)))),
  ];
  const natural = columns.map((_, at) => Math.max(...cells.map((line) => textLength(line[at]))));
  const fitted = widthsWithin(columns, natural, width - gap.length * (columns.length - 1));
  if (!fitted) {
    return rows.flatMap((row, at) => [
      ...(at > 0 ? [''] : []),
      ...propertyLines(columns, row, width),
    ]);
  }
  return cells.map((line) =>
    line
      .map((cell, at) => cut(cell, fitted[at] ?? 0).padEnd(fitted[at] ?? 0))
      .join(gap)
      .trimEnd(),
  );
}

function visibleColumns<Row>(columns: readonly Column<Row>[], rows: readonly Row[]) {
  const hasValue = ({ of }: Column<Row>) => rows.some((row) => cellText(of(row)) !== noValue);
  return columns.filter((column) => !column.isOptional || hasValue(column));
}

/** A property on a line; its value goes on below itself where the line is too short. */
export function propertyLines<Row>(
  all: readonly Column<Row>[],
  row: Row,
  width: number,
): readonly string[] {
  const columns = visibleColumns(all, [row]);
  const widest = Math.max(...columns.map(({ title }) => title.length));
  const left = Math.max(width - widest - gap.length, narrowest);
  return columns.flatMap(({ title, of, isWhole }) =>
    wrapped(cellText(of(row)), left, isWhole === true).map(
      (line, at) => `${(at === 0 ? title : '').padEnd(widest)}${gap}${line}`,
    ),
  );
}

/** Breaks between words; a word that is longer than the line is cut, unless it must be whole. */
function wrapped(text: string, width: number, isWhole: boolean): readonly string[] {
  const lines: string[] = [];
  for (const each of text.split(' ')) {
    const word = isWhole ? each : cut(each, width);
    const last = lines.at(-1);
    if (last === undefined || textLength(last) + 1 + textLength(word) > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** Cuts the widest columns first. Undefined if the columns do not fit. */
function widthsWithin<Row>(
  columns: readonly Column<Row>[],
  natural: readonly number[],
  width: number,
): readonly number[] | undefined {
  const at = (cap: number) =>
    natural.map((wide, index) => (columns[index]?.isWhole ? wide : Math.min(wide, cap)));
  const total = (widths: readonly number[]) => widths.reduce((sum, each) => sum + each, 0);
  let cap = Math.max(...natural, narrowest);
  if (!Number.isFinite(width)) return natural;
  while (cap > narrowest && total(at(cap)) > width) cap -= 1;
  return total(at(cap)) > width ? undefined : at(cap);
}

function cut(text: string, width: number): string {
  const letters = [...text];
  return letters.length <= width ? text : `${letters.slice(0, Math.max(width - 1, 0)).join('')}…`;
}

function textLength(text: string | undefined): number {
  return [...(text ?? '')].length;
}

/** The cell of a row without a value. */
export const noValue = '-';

export function cellText(value: unknown): string {
  if (value === undefined || value === null || value === '') return noValue;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.length === 0 ? noValue : value.map(cellText).join(', ');
  if (typeof value === 'object') {
    // DynamoDB does not keep the order of a map, and a cell must read the same each time.
    const pairs = Object.keys(value)
      .toSorted()
      .map((name) => `${name}=${cellText((value as Readonly<Record<string, unknown>>)[name])}`);
    return pairs.length === 0 ? noValue : pairs.join(' ');
  }
  return printable(String(value))
    .replaceAll(/[\n ]+/g, ' ')
    .replace(utc, '$1Z');
}

/** UTC as the API writes it; without its offset and milliseconds it is five letters shorter. */
const utc = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(?:\+00:00|Z)$/;
