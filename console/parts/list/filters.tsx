// The filters of a list, whose values are in the address of its screen.

import { Choice, Field } from '#console/parts/dialog/field.tsx';
import { addressOf, type Route } from '#console/routes.ts';
import type { Filter } from '#core/contracts/api/lists/list-routes.ts';

interface FiltersProps {
  readonly filters: Readonly<Record<string, Filter>>;
  readonly route: Route;
  /** Titles of filters whose names do not say it. */
  readonly titles?: Readonly<Record<string, string>>;
  /** The title of a choice. */
  readonly choiceText?: (choice: string) => string;
}

/** A choice for a filter that has a few values, a field for any other. */
export function Filters(props: FiltersProps) {
  const { filters, route, titles = {}, choiceText = (choice) => choice } = props;
  const all = Object.entries(filters);
  const fields = all.flatMap(([name, filter]) => ('form' in filter ? [{ name, ...filter }] : []));
  const show = (changed: Readonly<Record<string, string>>) => {
    location.hash = addressOf(route.screen, undefined, { ...route.filters, ...changed });
  };
  const titleOf = (name: string) =>
    titles[name] ?? `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    show(Object.fromEntries([...form].map(([field, value]) => [field, String(value).trim()])));
  };
  return (
    <search class="filters">
      {all.map(
        ([name, filter]) =>
          'choices' in filter && (
            <Choice
              key={name}
              label={titleOf(name)}
              value={route.filters[name] ?? filter.byDefault ?? ''}
              options={[
                ...(filter.byDefault ? [] : [['', `All ${name}s`] as const]),
                ...filter.choices.map((each) => [each, choiceText(each)] as const),
              ]}
              onChange={(value) => show({ [name]: value })}
            />
          ),
      )}
      {fields.length > 0 && (
        // The fields have their values from the address, also after the browser went back.
        <form key={fields.map(({ name }) => route.filters[name]).join(' ')} onSubmit={submit}>
          {fields.map(({ name, form }) => (
            <Field
              key={name}
              label={titleOf(name)}
              name={name}
              type={form === 'time' ? 'date' : 'search'}
              value={route.filters[name] ?? ''}
            />
          ))}
          <button type="submit">Filter</button>
        </form>
      )}
    </search>
  );
}
