// Why a server has its accelerators, or has none: what it holds, what happened, and what to do.

import { type Column, tableLines } from '#core/command-line/columns.ts';
import { type ListName, lists } from '#core/contracts/api/lists/lists.ts';
import { NotReadyOnHost } from '#core/domain/errors.ts';
import type { Api, Query } from '#operate/ops/api.ts';
import { counted } from '#operate/ops/output/shown.ts';
import { type ApiVerb, CommandFailed, exitCodes, type Shown } from '#operate/ops/verb.ts';
import { type Row, rowAnswer } from './list-columns.ts';

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
    const hasReason = assignments.length > 0 || failureIn(history) !== undefined;
    const refused = hasReason ? [] : await refusedRequests(api, instance, history);
    return shownStory(instance, { assignments, history, incidents, refused });
  },
};

interface Story {
  readonly assignments: readonly Row<'assignments'>[];
  readonly history: readonly Row<'history'>[];
  readonly incidents: readonly Row<'incidents'>[];
  /** Refused requests that may be the server's, the newest first: most name no server. */
  readonly refused: readonly Row<'history'>[];
}

async function rowsOf<Name extends ListName>(api: Api, name: Name, query: Query) {
  return await api.list(lists[name].path, name, rowAnswer(name), { query, limit: undefined });
}

/** An administrator asks soon after the failure; the history has the earlier ones. */
const refusedMax = 5;
/** Most refused calls are no requests for accelerators. */
const refusalsRead = '100';

/**
 * Those since the last record of the server that name no server, or this one; of its project, if a
 * record names it.
 */
async function refusedRequests(
  api: Api,
  instance: string,
  history: readonly Row<'history'>[],
): Promise<readonly Row<'history'>[]> {
  const last = history.at(-1);
  const query = { from: last?.at, project: last?.project_id ?? undefined };
  const rows: Row<'history'>[] = [];
  for (const kind of ['call.refused', 'call.failed']) {
    const listing = { query: { kind, ...query }, limit: refusalsRead };
    rows.push(...(await api.list(lists.history.path, 'history', rowAnswer('history'), listing)));
  }
  return rows
    .filter(
      ({ call }) =>
        call?.path?.endsWith('/accelerator_requests') &&
        (call.method === 'POST' || call.given?.includes(instance)),
    )
    .sort((a, b) => `${b.at}`.localeCompare(`${a.at}`))
    .slice(0, refusedMax);
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
  const { assignments, history, incidents, refused } = story;
  const isKnown = Object.values(story).some((rows) => rows.length > 0);
  return {
    json: story,
    lines: (width) => [
      headline(instance, story),
      ...section(tableLines(heldColumns, assignments, width), assignments),
      ...section(tableLines(storyColumns, history, width), history),
      ...section(tableLines(refusedColumns, refused, width), refused),
      ...incidents.flatMap(({ next_step }) => ['', `${next_step}`]),
    ],
    exitCode: isKnown ? exitCodes.done : exitCodes.failed,
  };
}

function section(lines: readonly string[], rows: readonly unknown[]): readonly string[] {
  return rows.length > 0 ? ['', ...lines] : [];
}

/** The failure after the last claim: a failed bind gives its handles back, in either order. */
function failureIn(history: readonly Row<'history'>[]): Row<'history'> | undefined {
  const failed = history.findLastIndex(
    ({ kind, call }) =>
      kind === 'bind.failed' || (kind === 'call.failed' && call?.method === 'PATCH'),
  );
  const claimed = history.findLastIndex(({ kind }) => kind === 'handle.claimed');
  return failed > claimed ? history[failed] : undefined;
}

function headline(instance: string, { assignments, history, refused }: Story): string {
  if (assignments.length > 0) {
    const faults = assignments.flatMap(({ device_address: address, device_health: health }) =>
      health ? [` The device at ${address} ${health}.`] : [],
    );
    return `${instance} has ${counted(assignments.length, 'accelerator')}.${faults.join('')}${notReady(instance, assignments)}`;
  }
  const failure = failureIn(history);
  if (failure) {
    const place = failure.hostname ? ` on ${failure.hostname}` : '';
    return `${instance} has no accelerator: its bind${place} failed: ${failure.reason}`;
  }
  const since = refused.length > 0 ? ' These requests were refused since:' : '';
  if (history.some(({ kind }) => kind === 'handle.released'))
    return `${instance} has no accelerator: it gave back what it had.${since}`;
  if (history.length > 0)
    return `${instance} has no accelerator: no bind of its requests has begun.${since}`;
  const noHost = 'Nova has found no host, or has not asked yet';
  const lacks = '`cyborg-ops capacity PROFILE` says what the profile of its flavor lacks.';
  return refused.length > 0
    ? `${instance} is in no request and in no record: ${noHost}, or its request was refused: it names no server, and these were the last. ${lacks}`
    : `${instance} is in no request and in no record: ${noHost}. ${lacks}`;
}

/** What Nova gets, and hides, when it starts the server now. */
function notReady(instance: string, assignments: Story['assignments']): string {
  const late = assignments.find(({ arq_state: state }) => isNotReady(state));
  if (!late || !isNotReady(late.arq_state)) return '';
  return ` ${new NotReadyOnHost(instance, late.arq_state, late.hostname ?? '').message}`;
}

function isNotReady(state: unknown): state is 'provisioning' | 'unknown' {
  return state === 'provisioning' || state === 'unknown';
}

const refusedColumns: readonly Column<Row<'history'>>[] = [
  { title: 'refused at', of: (row) => row.at, isWhole: true },
  { title: 'profile', of: (row) => row.device_profile_name },
  { title: 'project', of: (row) => row.project_id },
  { title: 'status', of: (row) => row.call?.status },
  { title: 'reason', of: (row) => row.reason },
];

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
