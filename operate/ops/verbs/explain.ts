// Why a server has its accelerators, or has none: what it holds, what happened, and what to do.

import { type Column, tableLines } from '#core/command-line/columns.ts';
import { type ListName, lists } from '#core/contracts/api/lists.ts';
import type { Api, Query } from '#operate/ops/api.ts';
import { type ApiVerb, CommandFailed, exitCodes, type Shown } from '#operate/ops/verb.ts';
import { type Row, rowAnswer } from './list-columns.ts';
import { counted } from './shown.ts';

export const explainVerb: ApiVerb = {
  path: ['explain'],
  summary: 'why a server has its accelerators, or has none, as a story in time',
  arguments: [{ name: 'server', help: "the server's uuid in Nova" }],
  example: 'cyborg-ops explain 7d8e9f0a-1b2c-4d3e-8f4a-5b6c7d8e9f0a',
  async ask(api, input) {
    const instance = input.argument('server');
    const assignments = await rowsOf(api, 'assignments', { instance });
    const history = await rowsOf(api, 'history', { instance, order: 'oldest-first' });
    const incidents = await incidentsOf(api, instance);
    return shownStory(instance, { assignments, history, incidents });
  },
};

interface Story {
  readonly assignments: readonly Row<'assignments'>[];
  readonly history: readonly Row<'history'>[];
  readonly incidents: readonly Row<'incidents'>[];
}

async function rowsOf<Name extends ListName>(api: Api, name: Name, query: Query) {
  return await api.list(lists[name].path, name, rowAnswer(name), { query, limit: undefined });
}

/** The kinds that name a server. */
const kinds = ['device-not-attached', 'failed-bind', 'stuck-job', 'reaper-waits'] as const;

/** None for a tenant, who may not read incidents. */
async function incidentsOf(api: Api, instance: string): Promise<readonly Row<'incidents'>[]> {
  try {
    const rows: Row<'incidents'>[] = [];
    for (const kind of kinds) rows.push(...(await rowsOf(api, 'incidents', { kind })));
    return rows.filter((row) => row.instance_uuid === instance);
  } catch (error) {
    if (error instanceof CommandFailed && error.exitCode === exitCodes.notAllowed) return [];
    throw error;
  }
}

function shownStory(instance: string, story: Story): Shown {
  const { assignments, history, incidents } = story;
  const isKnown = assignments.length + history.length + incidents.length > 0;
  return {
    json: story,
    lines: (width) => [
      headline(instance, story),
      ...section(tableLines(heldColumns, assignments, width), assignments),
      ...section(tableLines(storyColumns, history, width), history),
      ...incidents.flatMap(({ next_step }) => ['', `${next_step}`]),
    ],
    exitCode: isKnown ? exitCodes.done : exitCodes.failed,
  };
}

function section(lines: readonly string[], rows: readonly unknown[]): readonly string[] {
  return rows.length > 0 ? ['', ...lines] : [];
}

function headline(instance: string, { assignments, history }: Story): string {
  if (assignments.length > 0) {
    const faults = assignments.flatMap(({ device_address: address, device_health: health }) =>
      health ? [` The device at ${address} ${health}.`] : [],
    );
    return `${instance} has ${counted(assignments.length, 'accelerator')}.${faults.join('')}`;
  }
  // A failed bind gives its handles back, in either order.
  const failed = history.findLastIndex(({ kind }) => kind === 'bind.failed');
  const claimed = history.findLastIndex(({ kind }) => kind === 'handle.claimed');
  const last = history[failed];
  if (last && failed > claimed) {
    return `${instance} has no accelerator: its bind on ${last.hostname} failed: ${last.reason}`;
  }
  if (history.some(({ kind }) => kind === 'handle.released'))
    return `${instance} has no accelerator: it gave back what it had.`;
  return history.length > 0
    ? `${instance} has no accelerator: no bind of its requests has begun.`
    : `${instance} is in no request and in no record: Nova has found no host, or has not asked yet. \`cyborg-ops capacity PROFILE\` says what the profile of its flavor lacks.`;
}

const heldColumns: readonly Column<Row<'assignments'>>[] = [
  { title: 'host', of: (row) => row.hostname, isWhole: true },
  { title: 'address', of: (row) => row.device_address, isWhole: true },
  { title: 'class', of: (row) => row.resource_class },
  { title: 'state', of: (row) => row.arq_state, isWhole: true },
  { title: 'since', of: (row) => row.bound_since, isWhole: true },
  { title: 'profile', of: (row) => row.device_profile_name },
];

const storyColumns: readonly Column<Row<'history'>>[] = [
  { title: 'at', of: (row) => row.at, isWhole: true },
  { title: 'what', of: (row) => row.kind, isWhole: true },
  { title: 'host', of: (row) => row.hostname, isOptional: true },
  { title: 'class', of: (row) => row.resource_class, isOptional: true },
  { title: 'by', of: (row) => row.by },
  { title: 'reason', of: (row) => row.reason, isOptional: true },
];
