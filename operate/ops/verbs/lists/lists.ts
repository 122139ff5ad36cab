// The verbs that list, from the rows of core/contracts/api/lists/lists.ts.

import * as z from 'zod';
import { type Column, cellText } from '#core/command-line/columns.ts';
import type { Filter } from '#core/contracts/api/lists/list-routes.ts';
import { type ListName, lists } from '#core/contracts/api/lists/lists.ts';
import { rowShapes } from '#core/contracts/api/lists/rows.ts';
import { namesAnswer } from '#core/contracts/api/openstack.ts';
import type { Input } from '#operate/command.ts';
import { answer } from '#operate/ops/answers.ts';
import type { Api } from '#operate/ops/api.ts';
import { flag, optionOf, projectOption } from '#operate/ops/arguments/options.ts';
import { cadfEvent } from '#operate/ops/cadf.ts';
import { formats } from '#operate/ops/output/formats.ts';
import { shownRows, tableOf } from '#operate/ops/output/shown.ts';
import type { ApiVerb, Option, Options } from '#operate/ops/verb.ts';
import { listColumns, type Row, rowAnswer } from './list-columns.ts';

const filtersOf = (name: ListName) => Object.entries<Filter>(lists[name].filters);

const optionName = (filter: string) =>
  filter === 'hostname' ? 'host' : filter.replaceAll('_', '-');

function toOption(name: string, filter: Filter): Option {
  const { help } = filter;
  if ('choices' in filter) return { ...optionOf(name, help), choices: filter.choices };
  if (name === 'project') return projectOption(optionOf('project', `${help}, by name or id`));
  if (filter.form !== 'time') return optionOf(filter.form, help);
  const forms = '2026-03-01, 2026-03-01T12:00:00Z, or 7d for seven days ago';
  return { ...optionOf('time', `${help}: ${forms}`), reads: 'time-before' };
}

function queryFrom(name: ListName, input: Input) {
  return Object.fromEntries(
    filtersOf(name).map(([filter]) => [filter, input.text(optionName(filter))]),
  );
}

const listingFrom = (name: ListName, input: Input) => ({
  query: queryFrom(name, input),
  limit: input.text('limit'),
});

const limit: Option = { ...optionOf('number', 'the most rows; without it all'), reads: 'count' };

function listVerb(name: ListName): ApiVerb {
  const { path, verb, summary, example } = lists[name];
  const [resource = '', ...words] = verb.split(' ');
  const second = words.join(' ');
  const options: Options = Object.fromEntries(
    filtersOf(name).map(([filter, each]) => [optionName(filter), toOption(filter, each)]),
  );
  return {
    path: second === '' ? [resource] : [resource, second],
    summary,
    options: { ...options, limit },
    example: `cyborg-ops ${verb} ${example}`.trim(),
    async ask(api, input) {
      const rows = await api.list(path, name, rowAnswer(name), listingFrom(name, input));
      return shownRows(name, listColumns(name), rows);
    },
  };
}

/** Records also as events of CADF. */
function historyVerb(verb: ApiVerb): ApiVerb {
  const help = 'table for people; cadf has one event of the audit format CADF on each line';
  const choices = [...formats, 'cadf'];
  const format: Option = { ...optionOf('format', help), short: 'f', choices };
  return {
    ...verb,
    options: { ...verb.options, format },
    async ask(api, input, waiting) {
      if (input.text('format') !== 'cadf') return verb.ask(api, input, waiting);
      const { path } = lists.history;
      const listing = listingFrom('history', input);
      const records = await api.list(
        path,
        'history',
        answer(rowShapes.history, 'id', 'at', 'kind'),
        listing,
      );
      const events = records.map(cadfEvent);
      return { json: { events }, lines: () => events.map((event) => JSON.stringify(event)) };
    },
  };
}

const namesMax = 50;

/** With the names of servers and projects, as far as the user may see them. */
function whoUsesVerb(verb: ApiVerb): ApiVerb {
  return {
    ...verb,
    options: { ...verb.options, names: flag('the names of servers and projects, too') },
    async ask(api, input, waiting) {
      const shown = await verb.ask(api, input, waiting);
      if (!input.has('names')) return shown;
      const { assignments } = shown.json as { readonly assignments: readonly Row<'assignments'>[] };
      const servers = await readNames(
        api,
        'servers',
        assignments.map((row) => row.instance_uuid),
      );
      const projects = await readNames(
        api,
        'projects',
        assignments.map((row) => row.project_id),
      );
      const columns: readonly Column<Row<'assignments'>>[] = [
        { title: 'server name', of: (row) => servers.get(row.instance_uuid ?? '') },
        { title: 'project name', of: (row) => projects.get(row.project_id ?? '') },
        ...listColumns('assignments'),
      ];
      return { json: shown.json, table: tableOf(columns, assignments) };
    },
  };
}

async function readNames(
  api: Api,
  kind: 'servers' | 'projects',
  ids: readonly (string | null | undefined)[],
): Promise<ReadonlyMap<string, string>> {
  const left = [...new Set(ids.flatMap((id) => id ?? []))];
  const names = new Map<string, string>();
  while (left.length > 0) {
    const query = { [kind]: left.splice(0, namesMax).join(',') };
    const answer = await api.ask('GET', '/operator/v1/names', namesAnswer, { query });
    for (const [id, name] of Object.entries(answer[kind])) names.set(id, name);
  }
  return names;
}

const usageAnswer = z.looseObject({
  from: z.string().optional(),
  to: z.string().optional(),
  usage: z.array(rowAnswer('usage')),
});

/** In one answer, with the span of time that it counts. */
function usageVerb({ options: { limit: _, ...options } = {}, ...verb }: ApiVerb): ApiVerb {
  return {
    ...verb,
    options,
    async ask(api, input) {
      const query = queryFrom('usage', input);
      const json = await api.ask('GET', lists.usage.path, usageAnswer, { query });
      const { from, to, usage } = json;
      const span = `from ${cellText(from)} to ${cellText(to)}`;
      return { json, table: tableOf(listColumns('usage'), usage, { head: [span, ''] }) };
    },
  };
}

const firmwareTitles: readonly Column<Version>[] = [
  { title: 'model', of: ({ model }) => model, isWhole: true },
  { title: 'component', of: ({ component }) => component, isWhole: true },
  { title: 'version', of: ({ version }) => version, isWhole: true },
  { title: 'baseline', of: ({ baseline }) => baseline, isOptional: true, isWhole: true },
  { title: 'devices', of: ({ devices }) => devices, isWhole: true },
];

interface Version {
  readonly model: string | undefined;
  readonly component: string | undefined;
  readonly version: string | undefined;
  readonly baseline: string | null | undefined;
  readonly devices: number;
}

/** Counts devices by what they run; each with `--devices`. */
function firmwareVerb({ options: { limit: _, ...options } = {}, ...verb }: ApiVerb): ApiVerb {
  return {
    ...verb,
    options: { ...options, devices: flag('each device, in place of their number') },
    async ask(api, input, waiting) {
      const shown = await verb.ask(api, input, waiting);
      if (input.has('devices')) return shown;
      const { firmware } = shown.json as { readonly firmware: readonly Row<'firmware'>[] };
      return { json: shown.json, table: tableOf(firmwareTitles, countVersions(firmware)) };
    },
  };
}

function countVersions(rows: readonly Row<'firmware'>[]): readonly Version[] {
  const all = rows.flatMap(({ model, components = [] }) =>
    components.map(({ name: component, version, baseline }) => ({
      key: [model, component, version].join(' '),
      model,
      component,
      version,
      baseline,
    })),
  );
  const byKey = [...Map.groupBy(all, ({ key }) => key)].sort(([one], [other]) =>
    one < other ? -1 : 1,
  );
  return byKey.flatMap(([, group]) =>
    group.slice(0, 1).map((each) => ({ ...each, devices: group.length })),
  );
}

const special: { readonly [Name in ListName]?: (verb: ApiVerb) => ApiVerb } = {
  assignments: whoUsesVerb,
  history: historyVerb,
  usage: usageVerb,
  firmware: firmwareVerb,
};

export const listVerbs: readonly ApiVerb[] = (Object.keys(lists) as ListName[]).map((name) => {
  const verb = listVerb(name);
  return special[name]?.(verb) ?? verb;
});
