// The cloud at a glance, from what costs little to read: the hosts' summaries, one page of
// incidents and the latest records. The devices and requests themselves are not read.

import * as z from 'zod';
import { ServiceUnavailable } from '#core/clients/http.ts';
import { type Column, tableLines } from '#core/command-line/columns.ts';
import { type ListName, lists } from '#core/contracts/api/lists/lists.ts';
import type { Api, Query } from '#operate/ops/api.ts';
import { flag, optionOf } from '#operate/ops/arguments/options.ts';
import { formatOf } from '#operate/ops/output/formats.ts';
import { counted } from '#operate/ops/output/shown.ts';
import { type ApiVerb, CommandFailed, exitCodes, type Shown } from '#operate/ops/verb.ts';
import { type Row, rowAnswer } from './list-columns.ts';

const incidentsOfPage = 200;
const shownMax = 10;

export const topVerb: ApiVerb = {
  path: ['top'],
  summary: 'hosts by state, the worst incidents and the latest changes, drawn again and again',
  options: {
    once: flag('prints it once, as where the output is not a terminal'),
    every: {
      ...optionOf('seconds', 'the time between two readings; 10 without it'),
      reads: 'count',
    },
  },
  example: 'cyborg-ops top --once',
  async ask(api, input, { clock, sleep, draw }) {
    let overview = await readOverview(api, clock());
    if (!draw || formatOf(input) !== 'table' || input.has('once')) return shownOverview(overview);
    const seconds = Number(input.text('every') ?? 10);
    for (let fault: string | undefined; ; ) {
      const [seen, missed] = [overview, fault];
      draw((width) => [...(missed === undefined ? [] : [missed, '']), ...lines(seen, width)]);
      await sleep(seconds * 1000);
      try {
        overview = await readOverview(api, clock());
        fault = undefined;
      } catch (error) {
        if (!passes(error)) throw error;
        fault = `Not read at ${new Date(clock()).toISOString()}: ${error.message}`;
      }
    }
  },
};

/** Whether the next reading may succeed. */
function passes(error: unknown): error is Error {
  return (
    error instanceof ServiceUnavailable ||
    (error instanceof CommandFailed && error.exitCode === exitCodes.failed)
  );
}

interface Overview {
  /** ISO 8601. */
  readonly at: string;
  readonly states: readonly StateCount[];
  readonly incidents: readonly Row<'incidents'>[];
  readonly more_incidents: boolean;
  readonly history: readonly Row<'history'>[];
}

interface StateCount {
  readonly state: string;
  readonly hosts: number;
  readonly devices: number;
  readonly not_offered: number;
}

async function readOverview(api: Api, nowMs: number): Promise<Overview> {
  const all = { query: {}, limit: undefined };
  const hosts = await api.list(lists.hosts.path, 'hosts', rowAnswer('hosts'), all);
  const incidents = await readPage(api, 'incidents', { limit: String(incidentsOfPage) });
  const history = await readPage(api, 'history', { limit: String(shownMax) });
  return {
    at: new Date(nowMs).toISOString(),
    states: countStates(hosts),
    incidents: incidents.rows,
    more_incidents: incidents.hasMore,
    history: history.rows,
  };
}

/** One request, whatever follows. */
async function readPage<Name extends ListName>(api: Api, name: Name, query: Query) {
  const page = z.looseObject({
    [name]: z.array(rowAnswer(name)),
    [`${name}_links`]: z.array(z.unknown()).optional(),
  });
  const answer = await api.ask('GET', lists[name].path, page, { query });
  return {
    rows: answer[name] as readonly Row<Name>[],
    hasMore: answer[`${name}_links`] !== undefined,
  };
}

function countStates(hosts: readonly Row<'hosts'>[]): readonly StateCount[] {
  const byState = Map.groupBy(hosts, ({ state }) => state ?? 'unknown');
  const sum = (rows: readonly Row<'hosts'>[], field: 'devices' | 'not_offered') =>
    rows.reduce((total, row) => total + (row[field] ?? 0), 0);
  return [...byState].map(([state, rows]) => ({
    state,
    hosts: rows.length,
    devices: sum(rows, 'devices'),
    not_offered: sum(rows, 'not_offered'),
  }));
}

function shownOverview(overview: Overview): Shown {
  return { json: overview, lines: (width) => lines(overview, width) };
}

function lines({ at, ...overview }: Overview, width: number): readonly string[] {
  const { states, incidents, more_incidents, history } = overview;
  const more = more_incidents ? ' or more' : '';
  return [
    at,
    '',
    ...(states.length === 0 ? ['No host has reported.'] : tableLines(stateColumns, states, width)),
    '',
    incidents.length === 0 ? 'No incidents.' : `${counted(incidents.length, 'incident')}${more}`,
    ...section(incidentColumns, incidents, width),
    '',
    history.length === 0 ? 'No changes.' : 'Latest changes',
    ...section(historyColumns, history, width),
  ];
}

function section<R>(columns: readonly Column<R>[], rows: readonly R[], width: number) {
  return rows.length === 0 ? [] : tableLines(columns, rows.slice(0, shownMax), width);
}

const stateColumns: readonly Column<StateCount>[] = [
  { title: 'state', of: ({ state }) => state, isWhole: true },
  { title: 'hosts', of: ({ hosts }) => hosts, isWhole: true },
  { title: 'devices', of: ({ devices }) => devices, isWhole: true },
  { title: 'not offered', of: ({ not_offered }) => not_offered, isWhole: true },
];

const incidentColumns: readonly Column<Row<'incidents'>>[] = [
  { title: 'kind', of: ({ kind }) => kind },
  { title: 'since', of: ({ since }) => since },
  { title: 'host', of: ({ hostname }) => hostname },
  { title: 'reason', of: ({ reason }) => reason },
];

const historyColumns: readonly Column<Row<'history'>>[] = [
  { title: 'at', of: (row) => row.at },
  { title: 'what', of: ({ kind }) => kind },
  { title: 'host', of: ({ hostname }) => hostname, isOptional: true },
  { title: 'server', of: ({ instance_uuid }) => instance_uuid, isOptional: true },
  { title: 'reason', of: ({ reason }) => reason, isOptional: true },
];
