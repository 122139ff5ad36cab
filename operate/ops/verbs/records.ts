// Reads of the operator API: assignments, history, usage, capacity and incidents.

import * as z from 'zod';
import {
  type IncidentAction,
  incidentActions,
  incidentKinds,
} from '#core/domain/history/incidents.ts';
import { historyKinds } from '#core/shapes/history-kinds.ts';
import { cadfEventOf, recordForCadf } from '#operate/ops/cadf.ts';
import { type Column, cellOf, tableLines } from '#operate/ops/columns.ts';
import type { ApiVerb, Given } from '#operate/ops/verb.ts';
import { limitOption, optionOf, queryFrom, shownRows, windowOptions } from './shown.ts';

const text = z.string().nullish();

const assignment = z.looseObject({
  device_uuid: text,
  device_address: text,
  hostname: text,
  resource_class: text,
  attach_type: text,
  arq_uuid: text,
  arq_state: text,
  instance_uuid: text,
  project_id: text,
  bound_since: text,
});
const assignmentColumns: readonly Column<z.infer<typeof assignment>>[] = [
  { title: 'host', of: (row) => row.hostname, isWhole: true },
  { title: 'address', of: (row) => row.device_address },
  { title: 'class', of: (row) => row.resource_class },
  { title: 'server', of: (row) => row.instance_uuid, isWhole: true },
  { title: 'project', of: (row) => row.project_id, isWhole: true },
  { title: 'state', of: (row) => row.arq_state },
  { title: 'since', of: (row) => row.bound_since },
  { title: 'device', of: (row) => row.device_uuid, isWhole: true },
];

const record = z.looseObject({
  at: z.string(),
  kind: z.string(),
  from: text,
  to: text,
  since: text,
  hostname: text,
  device_uuid: text,
  attach_handle_uuid: text,
  resource_class: text,
  arq_uuids: z.array(z.string()).nullish(),
  instance_uuid: text,
  project_id: text,
  device_profile_name: text,
  by: text,
  request_id: text,
  reason: text,
  call: z.looseObject({ method: text, path: text, status: z.number().nullish() }).nullish(),
  evidence: z.record(z.string(), z.unknown()).nullish(),
});
const historyColumns: readonly Column<z.infer<typeof record>>[] = [
  { title: 'at', of: (row) => row.at, isWhole: true },
  { title: 'what', of: (row) => row.kind, isWhole: true },
  { title: 'from', of: (row) => row.from, isOptional: true },
  { title: 'to', of: (row) => row.to, isOptional: true },
  { title: 'since', of: (row) => row.since, isOptional: true },
  { title: 'host', of: (row) => row.hostname, isOptional: true },
  { title: 'device', of: (row) => row.device_uuid, isOptional: true },
  { title: 'handle', of: (row) => row.attach_handle_uuid, isOptional: true },
  { title: 'class', of: (row) => row.resource_class, isOptional: true },
  { title: 'server', of: (row) => row.instance_uuid, isOptional: true },
  { title: 'project', of: (row) => row.project_id, isOptional: true },
  { title: 'profile', of: (row) => row.device_profile_name, isOptional: true },
  { title: 'arqs', of: (row) => row.arq_uuids, isOptional: true },
  { title: 'by', of: (row) => row.by, isOptional: true },
  { title: 'request', of: (row) => row.request_id, isOptional: true },
  {
    title: 'call',
    of: ({ call }) => call && `${call.method} ${call.path} ${call.status}`,
    isOptional: true,
  },
  { title: 'reason', of: (row) => row.reason, isOptional: true },
  { title: 'evidence', of: (row) => row.evidence, isOptional: true },
];

const usage = z.looseObject({
  from: text,
  to: text,
  usage: z.array(
    z.looseObject({
      project_id: z.string(),
      resource_class: z.string(),
      day: z.string(),
      accelerator_seconds: z.number(),
    }),
  ),
});
const usageColumns: readonly Column<z.infer<typeof usage>['usage'][number]>[] = [
  { title: 'project', of: (row) => row.project_id, isWhole: true },
  { title: 'class', of: (row) => row.resource_class, isWhole: true },
  { title: 'day', of: (row) => row.day, isWhole: true },
  { title: 'accelerator-seconds', of: (row) => row.accelerator_seconds, isWhole: true },
];

const incident = z.looseObject({
  kind: z.string(),
  since: text,
  hostname: text,
  device_uuid: text,
  arq_uuid: text,
  instance_uuid: text,
  project_id: text,
  device_profile_name: text,
  reason: text,
  next_step: text,
  action: text,
});
type Incident = z.infer<typeof incident>;
const incidentColumns: readonly Column<Incident>[] = [
  { title: 'kind', of: (row) => row.kind, isWhole: true },
  { title: 'since', of: (row) => row.since, isWhole: true },
  { title: 'host', of: (row) => row.hostname, isWhole: true },
  { title: 'device', of: (row) => row.device_uuid, isOptional: true },
  { title: 'server', of: (row) => row.instance_uuid, isOptional: true },
  { title: 'project', of: (row) => row.project_id, isOptional: true },
  { title: 'profile', of: (row) => row.device_profile_name, isOptional: true },
  { title: 'reason', of: (row) => row.reason, isWhole: true },
  { title: 'next step', of: (row) => row.next_step, isWhole: true },
  { title: 'command', of: commandOf, isOptional: true, isWhole: true },
];

const commands: Readonly<Record<IncidentAction, (incident: Incident) => string>> = {
  rediscover: ({ hostname }) => `hosts rediscover ${hostname}`,
  forget: ({ hostname }) => `hosts forget ${hostname}`,
  'force-release': ({ device_uuid }) => `devices force-release ${device_uuid}`,
  reconcile: ({ hostname }) => `reconcile ${hostname} --repair`,
  settle: ({ hostname }) => `hosts settle ${hostname} --boot BOOT_ID`,
  reap: ({ instance_uuid }) => `reap --apply --instance ${instance_uuid}`,
};

/** The command of the action; undefined for an action that this version does not know. */
function commandOf(incident: Incident): string | undefined {
  const action = incidentActions.find((each) => each === incident.action);
  return action && `cyborg-ops ${commands[action](incident)}`;
}

const stopped = z.looseObject({ reason: z.string(), count: z.number() });
const capacity = z.looseObject({
  profile: z.unknown().optional(),
  availability: text,
  fits: z.number().optional(),
  hosts: z
    .array(z.looseObject({ hostname: z.string(), fits: z.number(), stopped_by: z.array(stopped) }))
    .optional(),
  stopped_by: z.array(stopped).optional(),
});
type Capacity = z.infer<typeof capacity>;

const filters = {
  device: optionOf('uuid', 'of this device'),
  host: optionOf('host', 'on this host'),
  project: optionOf('id', 'of this project'),
  instance: optionOf('uuid', 'of this server'),
  arq: optionOf('uuid', 'of this accelerator request'),
} as const;

const listingOf = (given: Given, ...names: string[]) => ({
  query: queryFrom(given, ...names),
  limit: given.text('limit'),
});

export const recordVerbs: readonly ApiVerb[] = [
  {
    path: ['who-uses'],
    summary: 'which server of which project has which device',
    arguments: [],
    options: { ...filters, ...limitOption },
    example: 'cyborg-ops who-uses --host cmp1.example',
    async ask(api, given) {
      const listing = listingOf(given, 'host', 'device', 'project', 'instance', 'arq');
      const rows = await api.list('/operator/v1/assignments', 'assignments', assignment, listing);
      return shownRows('assignments', assignmentColumns, rows);
    },
  },
  {
    path: ['history'],
    summary: 'what happened to devices, requests and hosts, by whom and why',
    arguments: [],
    options: {
      ...filters,
      profile: optionOf('name', 'of this device profile'),
      kind: {
        type: 'string',
        value: 'kind',
        help: 'only changes of this kind',
        choices: historyKinds,
      },
      ...windowOptions,
      order: {
        type: 'string',
        value: 'order',
        help: 'newest-first if it is not given',
        choices: ['oldest-first', 'newest-first'],
      },
      format: {
        type: 'string',
        value: 'format',
        help: 'table, or cadf: one event of the audit format CADF on each line',
        choices: ['table', 'cadf'],
      },
      ...limitOption,
    },
    example:
      'cyborg-ops history --device 2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11 --from 2026-03-01 --to 2026-04-01',
    async ask(api, given) {
      const subjects = ['device', 'arq', 'instance', 'host', 'project', 'profile'];
      const listing = listingOf(given, ...subjects, 'kind', 'from', 'to', 'order');
      if (given.text('format') === 'cadf') {
        const all = await api.list('/operator/v1/history', 'history', recordForCadf, listing);
        const events = all.map(cadfEventOf);
        const lines = () => events.map((event) => JSON.stringify(event));
        return { json: { events }, lines };
      }
      const rows = await api.list('/operator/v1/history', 'history', record, listing);
      return shownRows('history', historyColumns, rows);
    },
  },
  {
    path: ['usage'],
    summary: 'accelerator-seconds by project, resource class and day',
    arguments: [],
    options: {
      project: optionOf('id', 'of this project'),
      'resource-class': optionOf('class', 'of this resource class'),
      ...windowOptions,
    },
    example: 'cyborg-ops usage --project 7a1f0c9e6f5b4d0f8a52 --from 2026-03-01 --to 2026-04-01',
    async ask(api, given) {
      const query = queryFrom(given, 'project', 'resource-class', 'from', 'to');
      const answer = await api.ask('GET', '/operator/v1/usage', usage, { query });
      const { from, to, usage: rows } = answer;
      // What is in use is counted until now, so the end may be earlier than what was asked.
      const span = `from ${cellOf(from)} to ${cellOf(to)}`;
      return {
        json: answer,
        lines: (width) => [span, '', ...tableLines(usageColumns, rows, width)],
      };
    },
  },
  {
    path: ['capacity'],
    summary: 'how many more servers a device profile allows, where, and what stops the others',
    arguments: [{ name: 'profile', help: "the device profile's name or uuid" }],
    options: { host: filters.host },
    example: 'cyborg-ops capacity gpu-large',
    async ask(api, given) {
      const query = { profile: given.argument('profile'), host: given.text('host') };
      const answer = await api.ask('GET', '/operator/v1/capacity', capacity, { query });
      return { json: answer, lines: (width) => capacityLines(given, answer, width) };
    },
  },
  {
    path: ['incidents'],
    summary: 'what needs an operator, and the next step',
    arguments: [],
    options: {
      kind: {
        type: 'string',
        value: 'kind',
        help: 'only incidents of this kind',
        choices: incidentKinds,
      },
      host: filters.host,
      ...limitOption,
    },
    example: 'cyborg-ops incidents --kind quarantine',
    async ask(api, given) {
      const listing = listingOf(given, 'kind', 'host');
      const rows = await api.list('/operator/v1/incidents', 'incidents', incident, listing);
      return shownRows('incidents', incidentColumns, rows);
    },
  },
];

const reasonsOf = (stops: readonly z.infer<typeof stopped>[]) =>
  stops.map(({ reason, count }) => `${reason} (${count})`).join(', ');

function capacityLines(given: Given, answer: Capacity, width: number): readonly string[] {
  const { availability, fits, hosts = [], stopped_by = [] } = answer;
  // A tenant learns no more than this.
  if (fits === undefined) return [`${given.argument('profile')}: ${availability ?? 'unknown'}`];
  const columns: readonly Column<(typeof hosts)[number]>[] = [
    { title: 'host', of: (row) => row.hostname, isWhole: true },
    { title: 'fits', of: (row) => row.fits },
    { title: 'stopped by', of: (row) => reasonsOf(row.stopped_by) },
  ];
  const stops = stopped_by.length > 0 ? [`stopped by: ${reasonsOf(stopped_by)}`] : [];
  const table = hosts.length > 0 ? ['', ...tableLines(columns, hosts, width)] : [];
  return [`${given.argument('profile')}: ${fits} more`, ...stops, ...table];
}
