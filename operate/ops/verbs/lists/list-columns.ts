// The columns of lists, from the rows of core/contracts/api/lists/lists.ts.

import type * as z from 'zod';
import { type Cell, type Column, columnsOf } from '#core/command-line/columns.ts';
import { type ListField, type ListName, lists } from '#core/contracts/api/lists/lists.ts';
import { rowShapes } from '#core/contracts/api/lists/rows.ts';
import { durationText } from '#core/contracts/api/lists/titles.ts';
import { type IncidentAction, incidentActions } from '#core/domain/history/incidents.ts';
import { type Answer, answer } from '#operate/ops/answers.ts';
import { shownStatus } from '#operate/ops/output/shown.ts';

export type Row<Name extends ListName> = Answer<
  (typeof rowShapes)[Name],
  (typeof lists)[Name]['key'][number]
>;

type Cells<Name extends ListName> = { readonly [Each in ListField<Name>]?: Cell<Row<Name>> };

/** Cells that differ from the field of the answer. */
const cells: { readonly [Name in ListName]?: Cells<Name> } = {
  hosts: {
    devices: (row) => countOf(row.devices),
    not_offered: (row) => countOf(row.not_offered),
    clock_ahead_seconds: (row) => row.clock_ahead_seconds || undefined,
    drained: [
      { title: 'drained', of: (row) => row.drained?.reason, isOptional: true, isWhole: true },
      { title: 'until', of: (row) => row.drained?.until, isOptional: true },
      { title: 'by', of: (row) => row.drained?.by, isOptional: true },
    ],
    paused: [
      {
        title: 'paused',
        of: (row) => row.paused && (row.paused.reason ?? true),
        isOptional: true,
      },
      { title: 'paused until', of: (row) => row.paused?.until, isOptional: true },
    ],
  },
  devices: {
    status: (row) => shownStatus(row.status),
    programs: (row) => row.programs?.map(shownProgram).join(', '),
    components: (row) =>
      row.components?.map(({ name, version }) => `${name} ${version}`).join(', '),
  },
  history: { call: ({ call }) => call && `${call.method} ${call.path} ${call.status}` },
  incidents: {
    action: incidentCommand,
    ended_at: [
      { title: 'ended', of: (row) => row.ended_at, isOptional: true, isWhole: true },
      { title: 'lasted', of: lasted, isOptional: true, isWhole: true },
    ],
  },
  firmware: {
    status: (row) => shownStatus(row.status),
    components: (row) => row.components?.map(shownComponent).join(', '),
    programs: (row) => row.programs?.map(shownProgram).join(', '),
  },
  quotas: { limits: (row) => shownLimits(row.limits) },
};

function lasted({ since, ended_at }: Row<'incidents'>): string | undefined {
  return durationText(since, ended_at);
}

/** In the list a number, of one host a list. */
function countOf(value: unknown): unknown {
  return Array.isArray(value) ? value.length : value;
}

function shownComponent({ name, version, baseline }: FirmwareComponent): string {
  const isRight = baseline === null || baseline === undefined || baseline === version;
  return `${name} ${version}${isRight ? '' : ` (not ${baseline})`}`;
}

type Program = NonNullable<Row<'firmware'>['programs']>[number];

function shownProgram({ what, version, state, percent = null, reason }: Program): string {
  const progress = percent === null ? '' : `${percent} %`;
  const words = [what, version, state, progress].filter((each) => each).join(' ');
  return reason ? `${words}: ${reason}` : words;
}

type FirmwareComponent = NonNullable<Row<'firmware'>['components']>[number];

/** A class may be in use and have no limit. */
function shownLimits(limits: Row<'quotas'>['limits'] = {}) {
  return Object.fromEntries(
    Object.entries(limits).map(([name, limit]) => [name, limit ?? 'unlimited']),
  );
}

const commands: Readonly<Record<IncidentAction, (incident: Row<'incidents'>) => string>> = {
  rediscover: ({ hostname }) => `hosts rediscover ${hostname}`,
  forget: ({ hostname }) => `hosts forget ${hostname}`,
  'force-release': ({ device_uuid }) => `devices force-release ${device_uuid}`,
  reconcile: ({ hostname }) => `hosts reconcile ${hostname} --repair`,
  settle: ({ hostname }) => `hosts settle ${hostname} --boot BOOT_ID`,
  resume: ({ hostname }) => `hosts resume ${hostname}`,
  reap: ({ instance_uuid }) => `reap --apply --instance ${instance_uuid}`,
};

/** Undefined for an action that this version does not know. */
function incidentCommand(incident: Row<'incidents'>): string | undefined {
  const action = incidentActions.find((each) => each === incident.action);
  return action && `cyborg-ops ${commands[action](incident)}`;
}

/** All columns of a list, those that only one row shows included. */
export function listColumns<Name extends ListName>(name: Name): readonly Column<Row<Name>>[] {
  return columnsOf<string, Row<Name>>(lists[name].columns, cells[name] as never);
}

/** The schema of a row, of which the key must be there. */
export function rowAnswer<Name extends ListName>(name: Name): z.ZodType<Row<Name>> {
  const key: readonly string[] = lists[name].key;
  return answer<z.ZodObject, string>(rowShapes[name], ...key) as unknown as z.ZodType<Row<Name>>;
}
