// The screen of a list: its filters, and its table.

import { Screen } from '#console/parts/screen.tsx';
import type { Column } from '#console/parts/table/table.tsx';
import type { ListScreenName, ScreenProps } from '#console/routes.ts';
import { type ListField, type ListRow, lists } from '#core/contracts/api/lists/lists.ts';
import { Filters } from './filters.tsx';
import { listColumns, listKey } from './list-columns.tsx';
import { type LiveList, useList } from './live-list.tsx';
import { LiveTable } from './live-table.tsx';

const everyMs = 5000;

interface ListScreenProps<Name extends ListScreenName> extends ScreenProps {
  readonly name: Name;
  /** The columns; without it, those of each field. */
  readonly columns?: (list: LiveList<ListRow<Name>>) => readonly Column<ListRow<Name>>[];
}

export function ListScreen<Name extends ListScreenName>(props: ListScreenProps<Name>) {
  const { name, route, columns } = props;
  const filters = Object.keys(lists[name].filters);
  const query = Object.fromEntries(filters.map((each) => [each, route.filters[each]]));
  const list = useList(name, { everyMs, query });
  const fields = Object.keys(lists[name].columns) as ListField<Name>[];
  return (
    <Screen title={lists[name].screen}>
      <Filters route={route} filters={lists[name].filters} />
      <LiveTable
        list={list}
        row={name.replace(/s$/, '')}
        rows={list.rows}
        columns={columns?.(list) ?? listColumns(name, fields)}
        keyOf={listKey(name)}
        empty={list.data?.next === undefined ? `There are no ${name}.` : 'None so far.'}
      />
    </Screen>
  );
}
