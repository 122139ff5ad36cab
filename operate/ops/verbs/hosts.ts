// Hosts: their agents, devices, and whether new binds go to them.

import * as z from 'zod';
import { hostDeviceTitles, hostTitles, notOfferedTitles } from '#core/contracts/api/titles.ts';
import { hostStates } from '#core/domain/host/host-state.ts';
import type { Api } from '#operate/ops/api.ts';
import { type Column, columnsOf, tableLines } from '#operate/ops/columns.ts';
import type { ApiVerb, Argument, Given, Options, Shown } from '#operate/ops/verb.ts';
import {
  counted,
  limitOption,
  queryFrom,
  shownDone,
  shownOne,
  shownRows,
  shownStatus,
} from './shown.ts';

const text = z.string().nullish();
const reasoned = z.looseObject({ reason: text, until: text });
const drained = reasoned.extend({ by: text, since: text });
const host = z.looseObject({
  hostname: z.string(),
  state: z.string(),
  state_since: z.string().nullish(),
  agent_version: z.string().nullish(),
  boot_id: z.string().nullish(),
  last_report_at: z.string().nullish(),
  failed_drivers: z.array(z.string()).optional(),
  clock_ahead_seconds: z.number().nullish(),
  devices: z.unknown(),
  not_offered: z.unknown(),
  drained: drained.nullish(),
  paused: reasoned.nullish(),
});
type Host = z.infer<typeof host>;

const device = z.looseObject({
  uuid: z.string(),
  address: z.string().nullish(),
  type: z.string().nullish(),
  driver: z.string().nullish(),
  model: z.string().nullish(),
  status: z.string().nullish(),
  reason: z.string().nullish(),
  health: z.unknown().optional(),
  handles: z.unknown().optional(),
});
const absent = z.looseObject({
  address: z.string().nullish(),
  driver: z.string().nullish(),
  reason: z.string().nullish(),
});
const wholeHost = host.extend({
  devices: z.array(device),
  not_offered: z.array(absent),
  conflict: z.unknown().optional(),
});

const { boot_id, failed_drivers, paused, ...first } = columnsOf<keyof typeof hostTitles, Host>(
  hostTitles,
  {
    hostname: { isWhole: true },
    state: { isWhole: true },
    devices: { of: (row) => countOf(row.devices) },
    not_offered: { of: (row) => countOf(row.not_offered) },
    clock_ahead_seconds: { of: (row) => row.clock_ahead_seconds || undefined, isOptional: true },
    drained: { of: (row) => row.drained?.reason, isOptional: true, isWhole: true },
    paused: { of: (row) => row.paused && (row.paused.reason ?? true) },
    failed_drivers: { of: (row) => row.failed_drivers?.join(', ') },
  },
);
const columns: readonly Column<Host>[] = [
  ...Object.values(first),
  { title: 'until', of: (row) => row.drained?.until, isOptional: true },
  { title: 'by', of: (row) => row.drained?.by, isOptional: true },
  paused,
  { title: 'paused until', of: (row) => row.paused?.until, isOptional: true },
];

function countOf(value: unknown): unknown {
  return Array.isArray(value) ? value.length : value;
}

const oneHost: Argument = { name: 'host', help: "the compute node's name in Nova" };
const pathOf = (given: Given) => `/operator/v1/hosts/${encodeURIComponent(given.argument('host'))}`;

/** Devices that a drain or its end has changed, and devices that it has found so. */
const changed = z.looseObject({
  devices: z.array(z.string()).optional(),
  others: z.array(z.string()).optional(),
});
type Changed = z.infer<typeof changed>;

/** @param sentence what was done, after the host's name */
function act(
  verb: string,
  body: (given: Given) => unknown,
  sentence: (given: Given, answer: Changed) => string,
) {
  return async (api: Api, given: Given): Promise<Shown> => {
    const sent = body(given);
    const path = `${pathOf(given)}/${verb}`;
    const asked = sent === undefined ? {} : { body: sent };
    const answer = await api.ask('POST', path, changed.optional(), asked);
    return shownDone(`${given.argument('host')}: ${sentence(given, answer ?? {})}`, answer);
  };
}

const drainOptions: Options = {
  reason: {
    type: 'string',
    value: 'text',
    help: 'why; operators see it at the host',
    isRequired: true,
  },
  until: {
    type: 'string',
    value: 'time',
    reads: 'time-after',
    help: 'when the host resumes by itself: 2026-12-01T06:00:00Z, or 4h for in four hours',
  },
};

const drain: Pick<ApiVerb, 'arguments' | 'options' | 'ask'> = {
  arguments: [oneHost],
  options: drainOptions,
  ask: act(
    'drain',
    (given) => ({ reason: given.text('reason'), until: given.text('until') }),
    (given, { devices, others = [] }) => {
      const until = given.text('until');
      const of = devices ? ` on ${counted(devices.length, 'device')}` : '';
      const more = others.length > 0 ? `; in maintenance already: ${others.length}` : '';
      return `no new binds${of}${until === undefined ? '' : ` until ${until}`}${more}; what is bound stays.`;
    },
  ),
};

const resume: Pick<ApiVerb, 'arguments' | 'options' | 'ask'> = {
  arguments: [oneHost],
  options: {},
  ask: act(
    'resume',
    () => undefined,
    (_given, { devices }) =>
      `new binds again${devices ? ` on ${counted(devices.length, 'device')}` : ''}.`,
  ),
};

export const hostVerbs: readonly ApiVerb[] = [
  {
    path: ['hosts', 'list'],
    summary: 'hosts with their state',
    arguments: [],
    options: {
      state: {
        type: 'string',
        value: 'state',
        help: 'only hosts of this state',
        choices: hostStates,
      },
      ...limitOption,
    },
    example: 'cyborg-ops hosts list --state away',
    async ask(api, given) {
      const listing = { query: queryFrom(given, 'state'), limit: given.text('limit') };
      const rows = await api.list('/operator/v1/hosts', 'hosts', host, listing);
      return shownRows('hosts', columns, rows);
    },
  },
  {
    path: ['hosts', 'show'],
    summary: 'a host, its devices, and what it does not offer and why',
    arguments: [oneHost],
    options: {},
    example: 'cyborg-ops hosts show cmp1.example',
    async ask(api, given) {
      const row = await api.ask('GET', pathOf(given), wholeHost);
      return { json: row, lines: (width) => linesOf(row, width) };
    },
  },
  {
    path: ['hosts', 'rediscover'],
    summary: 'asks the agent for all devices anew',
    arguments: [oneHost],
    options: {},
    example: 'cyborg-ops hosts rediscover cmp1.example',
    ask: act(
      'rediscover',
      () => undefined,
      () => 'its agent was asked to describe all devices.',
    ),
  },
  {
    path: ['hosts', 'drain'],
    summary: 'no new binds on the host; what is bound stays',
    ...drain,
    example: "cyborg-ops hosts drain cmp1.example --reason 'new firmware' --until 4h",
  },
  {
    path: ['hosts', 'resume'],
    summary: 'new binds on the host again',
    ...resume,
    example: 'cyborg-ops hosts resume cmp1.example',
  },
  {
    path: ['hosts', 'settle'],
    summary: 'ends a conflict of identity, after the other agent was stopped',
    arguments: [oneHost],
    options: {
      boot: {
        type: 'string',
        value: 'boot id',
        help: "the boot of the host's own agent; `hosts show` lists the boots",
        isRequired: true,
      },
    },
    ask: act(
      'settle',
      (given) => ({ boot_id: given.text('boot') }),
      (given) => `boot ${given.text('boot')} is the host's; its next report ends the conflict.`,
    ),
    example: 'cyborg-ops hosts settle cmp1.example --boot 6f1c2b1e-6a0e-4f5e-9b0a-3d2f1c4b5a69',
  },
  {
    path: ['hosts', 'forget'],
    summary: 'removes a host that is gone for good',
    arguments: [oneHost],
    options: {},
    example: 'cyborg-ops hosts forget cmp9.example',
    async ask(api, given) {
      const answer = await api.ask('DELETE', pathOf(given), z.unknown());
      return shownDone(`${given.argument('host')} is forgotten.`, answer);
    },
  },
];

/** A host's maintenance, by the name that operators look for. */
export const maintenanceVerbs: readonly ApiVerb[] = [
  {
    path: ['maintenance', 'drain'],
    summary: 'starts maintenance of a host: no new binds, with a reason and an end',
    ...drain,
    example:
      "cyborg-ops maintenance drain cmp1.example --reason 'new firmware' --until 2030-12-01T06:00:00Z",
  },
  {
    path: ['maintenance', 'resume'],
    summary: 'ends maintenance of a host',
    ...resume,
    example: 'cyborg-ops maintenance resume cmp1.example',
  },
];

const deviceColumns = Object.values(
  columnsOf<keyof typeof hostDeviceTitles, z.infer<typeof device>>(hostDeviceTitles, {
    uuid: { isWhole: true },
    status: { of: (row) => shownStatus(row.status) },
    health: { of: (row) => row.health ?? 'ok' },
  }),
);
const absentColumns = Object.values(
  columnsOf<keyof typeof notOfferedTitles, z.infer<typeof absent>>(notOfferedTitles, {}),
);

function linesOf(row: z.infer<typeof wholeHost>, width: number): readonly string[] {
  const own: readonly Column<typeof row>[] = [
    ...columns,
    boot_id,
    failed_drivers,
    { title: 'conflict', of: ({ conflict }) => conflict },
  ];
  const parts = [
    shownOne(own, row).lines(width),
    tableLines(deviceColumns, row.devices, width),
    row.not_offered?.length ? tableLines(absentColumns, row.not_offered, width) : [],
  ];
  return parts
    .filter(({ length }) => length > 0)
    .flatMap((each, at) => (at ? ['', ...each] : each));
}
