// Columns of fields: each with its title, and with the cell that fields of its name have.

import type { ComponentChildren } from 'preact';
import { DeviceLink, HostLink, Id } from '#console/parts/names/links.tsx';
import { Name, ServerLink } from '#console/parts/names/name.tsx';
import { StateOf } from '#console/parts/status.tsx';
import type { Column } from '#console/parts/table/table.tsx';
import { isTime, titleText } from '#console/parts/text.ts';
import { Time } from '#console/parts/time/time.tsx';
import {
  type ListField,
  type ListName,
  type ListRow,
  lists,
} from '#core/contracts/api/lists/lists.ts';
import type { Title } from '#core/contracts/api/lists/titles.ts';

type Cell<Row> = Partial<Column<Row>> | Column<Row>['cell'];
type Cells<Row, Name extends keyof Row> = { readonly [Each in Name]?: Cell<Row> };

/** @param cells of fields that are not shown as other fields of their name */
export function fieldColumns<Row, Name extends keyof Row & string>(
  titles: Readonly<Record<Name, Title>>,
  names: readonly Name[],
  cells: Cells<Row, Name> = {},
): Column<Row>[] {
  return names.map((name) => {
    const cell: Cell<Row> | undefined = cells[name];
    return {
      title: titleText(name, titles[name]),
      cell: (row) => fieldCell(name, row[name]),
      sortBy: ({ [name]: value }) =>
        typeof value === 'string' || typeof value === 'number' ? value : undefined,
      ...(typeof cell === 'function' ? { cell } : cell),
    };
  });
}

function fieldCell(name: string, value: unknown): ComponentChildren {
  const text = value as string | null;
  if (isTime(name)) return <Time at={text} />;
  if (name === 'hostname') return <HostLink hostname={text} />;
  if (name === 'device_uuid') return <DeviceLink uuid={text} />;
  if (name === 'instance_uuid') return <ServerLink uuid={text} />;
  if (name === 'project_id') return <Name kind="projects" id={text} />;
  if (/_(uu)?id$/.test(name)) return <Id id={text} />;
  if (text && /(^|_)(state|kind)$/.test(name)) return <StateOf word={text} />;
  return value !== null && typeof value === 'object' ? JSON.stringify(value) : text;
}

export function listColumns<Name extends ListName>(
  list: Name,
  names: readonly ListField<Name>[],
  cells: Cells<ListRow<Name>, ListField<Name>> = {},
): Column<ListRow<Name>>[] {
  const titles: Readonly<Record<string, Title>> = lists[list].columns;
  return fieldColumns<ListRow<Name>, ListField<Name>>(titles, names, cells);
}

/** The key of a row. */
export function listKey<Name extends ListName>(list: Name) {
  const key: readonly string[] = lists[list].key;
  return (row: ListRow<Name>) => key.map((name) => row[name as keyof typeof row]).join(' ');
}
