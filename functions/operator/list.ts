// The action of a list, from its row: its query, its pages, and their schema.

import * as z from 'zod';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { Filter, FilterForm } from '#core/contracts/api/lists/list-routes.ts';
import { type ListName, type ListRow, lists } from '#core/contracts/api/lists/lists.ts';
import { rowShapes } from '#core/contracts/api/lists/rows.ts';
import { collection } from '#core/contracts/api/shapes.ts';
import { firmwareBaseline } from '#core/shapes/device.ts';
import { type Action, action, type Request } from '#functions/http/action.ts';
import { pageReply } from '#functions/http/links.ts';
import { hostname, limit, type Page } from './page.ts';
import { moment } from './range.ts';

type Filters<Name extends ListName> = (typeof lists)[Name]['filters'];

type Value<Each> = Each extends { readonly choices: readonly (infer Choice)[] } ? Choice : string;

export type ListQuery<Name extends ListName> = {
  readonly [Each in keyof Filters<Name>]: Filters<Name>[Each] extends { readonly byDefault: string }
    ? Value<Filters<Name>[Each]>
    : Value<Filters<Name>[Each]> | undefined;
};

export type PageQuery<Name extends ListName> = ListQuery<Name> & {
  readonly limit: number;
  readonly marker: string | undefined;
};

const forms: Readonly<Record<FilterForm, z.ZodType<string>>> = {
  host: hostname,
  uuid: z.guid().toLowerCase(),
  id: z.string().min(1).max(64),
  name: z.string().min(1).max(255),
  model: firmwareBaseline.shape.model.toLowerCase(),
  class: z.string().regex(/^[A-Z][A-Z0-9_]{0,254}$/, 'must be a resource class, such as VGPU'),
  time: moment,
};

/** The filters of a list, and what its query has beside them. */
export function listQuery<Name extends ListName, Others extends z.ZodRawShape>(
  name: Name,
  others: Others,
) {
  const filters = Object.entries<Filter>(lists[name].filters);
  const shape = Object.fromEntries(filters.map(([each, filter]) => [each, toSchema(filter)]));
  return z.strictObject({ ...shape, ...others }) as unknown as z.ZodType<
    ListQuery<Name> & z.output<z.ZodObject<Others>>
  >;
}

function toSchema(filter: Filter): z.ZodType {
  const description = filter.help;
  if ('form' in filter) return forms[filter.form].optional().meta({ description });
  const choice = z.enum(filter.choices);
  const { byDefault } = filter;
  return (byDefault ? choice.default(byDefault) : choice.optional()).meta({ description });
}

interface Paging {
  readonly marker: z.ZodType<string>;
  /** Error statuses beside those of all lists. */
  readonly refuses?: readonly number[];
}

/** @param read the rows of the page, and the marker of the next one unless it is the last */
export function listAction<Name extends ListName>(
  name: Name,
  { marker, refuses = [] }: Paging,
  read: (
    request: Request<PageQuery<Name>, undefined, ConsumerDeps>,
  ) => Promise<Page<ListRow<Name>>>,
): Action {
  const schemas = {
    query: listQuery(name, { limit, marker: marker.optional() }) as z.ZodType<PageQuery<Name>>,
    answers: { 200: collection(name, rowShapes[name]) },
    refuses,
  };
  return action<PageQuery<Name>, undefined, ConsumerDeps>(schemas, async (request) => {
    const { rows, next } = await read(request);
    const { base, query } = request;
    return { body: pageReply(name, rows, { base, path: lists[name].path, query }, next) };
  });
}
