// Hosts: their agents, devices, and whether new binds go to them.

import * as z from 'zod';
import { columnsOf, propertyLines, tableLines } from '#core/command-line/columns.ts';
import { holdTexts, hostDeviceTitles, notOfferedTitles } from '#core/contracts/api/lists/titles.ts';
import { drainedAnswer, hostDetailAnswer } from '#core/contracts/api/operator/hosts.ts';
import type { Input } from '#operate/command.ts';
import { answer } from '#operate/ops/answers.ts';
import type { Api } from '#operate/ops/api.ts';
import { optionOf, required } from '#operate/ops/arguments/options.ts';
import { counted, shownDone, shownStatus } from '#operate/ops/output/shown.ts';
import type { ApiVerb, Argument, Options, Shown } from '#operate/ops/verb.ts';
import { listColumns } from './lists/list-columns.ts';
import { reconcileHostVerb } from './reconcile-host.ts';
import { topologyVerb } from './topology.ts';

const wholeHost = answer(hostDetailAnswer, 'hostname', 'devices', 'not_offered');
type WholeHost = z.infer<typeof wholeHost>;

const oneHost: Argument = { name: 'host', help: "the compute node's name in Nova" };
const pathOf = (input: Input) => `/operator/v1/hosts/${encodeURIComponent(input.argument('host'))}`;

/** The other actions answer with fewer of its fields, or with others that are not shown. */
const changed = answer(drainedAnswer).optional();
type Changed = NonNullable<z.infer<typeof changed>>;

/** @param sentence what was done, after the host's name */
function act(
  verb: string,
  body: (input: Input) => unknown,
  sentence: (input: Input, answer: Changed) => string,
) {
  return async (api: Api, input: Input): Promise<Shown> => {
    const sent = body(input);
    const path = `${pathOf(input)}/${verb}`;
    const request = sent === undefined ? {} : { body: sent };
    const answer = await api.ask('POST', path, changed, request);
    return shownDone(`${input.argument('host')}: ${sentence(input, answer ?? {})}`, answer);
  };
}

const drainOptions: Options = {
  reason: required('text', 'why; operators see it at the host'),
  until: {
    ...optionOf(
      'time',
      'when you mean to resume it: 2026-12-01T06:00:00Z, or 4h for in four hours',
    ),
    reads: 'time-after',
  },
};

const drain: Pick<ApiVerb, 'arguments' | 'options' | 'ask'> = {
  arguments: [oneHost],
  options: drainOptions,
  ask: act(
    'drain',
    (input) => ({ reason: input.text('reason'), until: input.text('until') }),
    (input, { devices, others = [] }) => {
      const until = input.text('until');
      const of = devices ? ` on ${counted(devices.length, 'device')}` : '';
      const more = others.length > 0 ? `; disabled already: ${others.length}` : '';
      return `no new binds${of}${until === undefined ? '' : ` until ${until}`}${more}; what is bound stays.`;
    },
  ),
};

const resume: Pick<ApiVerb, 'arguments' | 'options' | 'ask'> = {
  arguments: [oneHost],
  ask: act(
    'resume',
    () => undefined,
    (_given, { devices }) =>
      `new binds again${devices ? ` on ${counted(devices.length, 'device')}` : ''}.`,
  ),
};

export const hostVerbs: readonly ApiVerb[] = [
  {
    path: ['hosts', 'show'],
    summary: 'a host, its devices, and what it does not offer and why',
    arguments: [oneHost],
    example: 'cyborg-ops hosts show cmp1.example',
    async ask(api, input) {
      const row = await api.ask('GET', pathOf(input), wholeHost);
      return { json: row, lines: (width) => hostLines(row, width) };
    },
  },
  topologyVerb,
  {
    path: ['hosts', 'rediscover'],
    summary: 'asks the agent for all devices anew',
    arguments: [oneHost],
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
      boot: required('boot id', "the boot of the host's own agent; `hosts show` lists the boots"),
    },
    ask: act(
      'settle',
      (input) => ({ boot_id: input.text('boot') }),
      (input) => `boot ${input.text('boot')} is the host's; its next report ends the conflict.`,
    ),
    example: 'cyborg-ops hosts settle cmp1.example --boot 6f1c2b1e-6a0e-4f5e-9b0a-3d2f1c4b5a69',
  },
  reconcileHostVerb,
  {
    path: ['hosts', 'forget'],
    summary: 'removes a host that is gone for good',
    arguments: [oneHost],
    example: 'cyborg-ops hosts forget cmp9.example',
    async ask(api, input) {
      const answer = await api.ask('DELETE', pathOf(input), z.unknown());
      return shownDone(`${input.argument('host')} is forgotten.`, answer);
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

const servers = { title: 'servers', of: (row: WholeHost) => row.servers };
const conflict = { title: 'conflict', of: (row: WholeHost) => row.conflict };
const deviceColumns = columnsOf<keyof typeof hostDeviceTitles, WholeHost['devices'][number]>(
  hostDeviceTitles,
  {
    status: (row) => shownStatus(row.status),
    health: (row) => row.health ?? 'ok',
    grants: ({ grants = [] }) =>
      grants.map(({ project_id, until }) => `${project_id} until ${until}`),
    holds: ({ holds = [] }) => holdTexts(holds),
  },
);

function hostLines(row: WholeHost, width: number): readonly string[] {
  const absent = row.not_offered;
  const parts = [
    propertyLines<WholeHost>([...listColumns('hosts'), servers, conflict] as never, row, width),
    tableLines(deviceColumns, row.devices, width),
    absent.length > 0 ? tableLines(columnsOf(notOfferedTitles), absent, width) : [],
  ];
  return parts
    .filter(({ length }) => length > 0)
    .flatMap((each, at) => (at ? ['', ...each] : each));
}
