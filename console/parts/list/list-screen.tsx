// The screen of a list: its filters, and its table.

import { Choice, Field } from '#console/parts/dialog/field.tsx';
import { Screen } from '#console/parts/screen.tsx';
import type { Column } from '#console/parts/table/table.tsx';
import { addressOf, type ListScreenName, type Route, type ScreenProps } from '#console/routes.ts';
import { type Filter, type ListField, type ListRow, lists } from '#core/contracts/api/lists.ts';
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
      <Filters {...{ name, route }} />
      <LiveTable
        {...{ list }}
        row={name.replace(/s$/, '')}
        rows={list.rows}
        columns={columns?.(list) ?? listColumns(name, fields)}
        keyOf={listKey(name)}
        empty={list.data?.next === undefined ? `There are no ${name}.` : 'None so far.'}
      />
    </Screen>
  );
}

interface FiltersProps {
  readonly name: ListScreenName;
  readonly route: Route;
}

/** A choice for a filter that has a few values, a field for any other. */
function Filters({ name, route: { screen, filters } }: FiltersProps) {
  const all = Object.entries<Filter>(lists[name].filters);
  const fields = all.filter(([, filter]) => 'form' in filter);
  const show = (changed: Readonly<Record<string, string>>) => {
    location.hash = addressOf(screen, undefined, { ...filters, ...changed });
  };
  const titleOf = (filter: string) => filter.charAt(0).toUpperCase() + filter.slice(1);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    show(Object.fromEntries([...form].map(([field, value]) => [field, String(value).trim()])));
  };
  return (
    <search class="filters">
      {all.map(
        ([filter, row]) =>
          'choices' in row && (
            <Choice
              key={filter}
              label={titleOf(filter)}
              value={filters[filter] ?? row.byDefault ?? ''}
              options={[
                ...(row.byDefault ? [] : [['', `All ${filter}s`] as const]),
                ...row.choices.map((each) => [each, each] as const),
              ]}
              onChange={(value) => show({ [filter]: value })}
            />
          ),
      )}
      {fields.length > 0 && (
        <form onSubmit={submit}>
          {fields.map(([field]) => (
            <Field
              key={field}
              label={titleOf(field)}
              name={field}
              type="search"
              value={filters[field] ?? ''}
            />
          ))}
          <button type="submit">Filter</button>
        </form>
      )}
    </search>
  );
}
