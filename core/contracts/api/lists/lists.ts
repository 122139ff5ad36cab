// The lists that operators read, a row each. The route, the entry in the OpenAPI document, the
// verb of cyborg-ops and the table of the console follow from it. Without zod at run time, for the
// console's page: rows.ts has the shapes.

import type * as z from 'zod';
import { incidentKinds } from '#core/domain/history/incidents.ts';
import { hostStates } from '#core/domain/host/host-state.ts';
import type { PolicyRule } from '#core/domain/policy.ts';
import { historyKinds } from '#core/shapes/vocabulary/history-kinds.ts';
import { commonFilters, type Filter, listRoutes } from './list-routes.ts';
import type { rowShapes } from './rows.ts';
import { apart, optional, type Titles, whole, wide } from './titles.ts';

export type ListName = keyof typeof rowShapes;
export type ListRow<Name extends ListName> = z.output<(typeof rowShapes)[Name]>;
export type ListField<Name extends ListName> = keyof ListRow<Name> & string;

interface List<Name extends ListName> {
  readonly path: string;
  readonly rule: PolicyRule;
  /** The fields that tell one row from another. */
  readonly key: readonly ListField<Name>[];
  readonly filters: Readonly<Record<string, Filter>>;
  /** Each field, in the order of the columns. */
  readonly columns: Titles<(typeof rowShapes)[Name]>;
  /** The verb of cyborg-ops, what it shows, and words after it. */
  readonly verb: string;
  readonly summary: string;
  readonly example: string;
  /** Title of the screen in the console, for a list that is one. */
  readonly screen?: string;
}

const { host, model, device, project, instance, arq, from, to, order, openOrEnded } = commonFilters;
const subjects = { device, host, project, instance, arq };

export const lists = {
  hosts: {
    ...listRoutes.hosts,
    key: ['hostname'],
    filters: { state: { choices: hostStates, help: 'only hosts of this state' } },
    columns: {
      hostname: whole('host'),
      state: whole('state'),
      state_since: 'since',
      agent_version: wide('agent'),
      nova_versions: wide('Nova'),
      failure_domain: optional('fails with'),
      last_report_at: wide('last report'),
      devices: 'devices',
      not_offered: 'not offered',
      clock_ahead_seconds: optional('clock ahead, s'),
      drained: { title: 'drained', isOptional: true, isWhole: true },
      paused: 'paused',
      boot_id: apart('boot'),
      failed_drivers: apart('drivers failed'),
    },
    verb: 'hosts list',
    summary: 'hosts with their state',
    example: '--state away',
  },
  devices: {
    ...listRoutes.devices,
    key: ['uuid'],
    filters: {
      hostname: { form: 'host', help: 'only devices of this host' },
      type: { form: 'name', help: 'only devices of this type, such as GPU or FPGA' },
      vendor: { form: 'id', help: 'only devices of this vendor, such as 10de' },
    },
    columns: {
      uuid: whole('device'),
      hostname: whole('host'),
      type: 'type',
      vendor: 'vendor',
      model: 'model',
      status: 'status',
      reason: 'reason',
      status_changed_by: apart('set by'),
      status_changed_at: apart('set at'),
      std_board_info: apart('board'),
      vendor_board_info: apart("vendor's board"),
      components: apart('components'),
      programs: apart('programs'),
      created_at: apart('created'),
      updated_at: apart('updated'),
    },
    verb: 'devices list',
    summary: 'devices and their status',
    example: '--host cmp1.example --type GPU',
  },
  assignments: {
    ...listRoutes.assignments,
    key: ['arq_uuid'],
    filters: subjects,
    columns: {
      hostname: whole('host'),
      device_address: 'address',
      resource_class: 'class',
      instance_uuid: whole('server'),
      project_id: { ...wide('project'), isWhole: true },
      arq_state: 'state',
      bound_since: 'since',
      device_health: wide('health'),
      maintenance_until: wide('in maintenance until'),
      device_uuid: { ...wide('device'), isWhole: true },
      device_status: apart("device's status"),
      type: apart('type'),
      device_profile_name: apart('profile'),
      device_profile_revision: apart("profile's revision"),
      arq_uuid: apart('ARQ'),
      attach_handle_uuid: apart('handle'),
      attach_type: apart('attach type'),
      attach_info: apart('attach info'),
    },
    verb: 'who-uses',
    summary: 'which server of which project has which device',
    example: '--host cmp1.example',
  },
  history: {
    ...listRoutes.history,
    key: ['id'],
    filters: {
      ...subjects,
      profile: { form: 'name', help: 'only of this device profile' },
      user: { form: 'id', help: 'only what this user has asked for' },
      kind: { choices: historyKinds, help: 'only changes of this kind' },
      from,
      to,
      order,
    },
    columns: {
      at: whole('at'),
      kind: whole('what'),
      from: wide('from'),
      to: wide('to'),
      since: wide('since'),
      hostname: optional('host'),
      device_uuid: wide('device'),
      attach_handle_uuid: wide('handle'),
      resource_class: wide('class'),
      instance_uuid: optional('server'),
      project_id: wide('project'),
      device_profile_name: wide('profile'),
      arq_uuids: wide('arqs'),
      by: optional('by'),
      request_id: wide('request'),
      call: wide('call'),
      reason: optional('reason'),
      evidence: wide('evidence'),
      id: apart('record'),
      resource_provider_uuid: apart('provider'),
    },
    verb: 'history',
    summary: 'what happened to devices, requests and hosts, by whom and why',
    example: '--device 2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11 --from 2026-03-01 --to 2026-04-01',
  },
  // Not in pages: an answer counts a span of time, which it names.
  usage: {
    ...listRoutes.usage,
    key: ['day', 'project_id', 'resource_class'],
    filters: {
      project,
      resource_class: { form: 'class', help: 'only of this resource class' },
      from,
      to,
    },
    columns: {
      project_id: whole('project'),
      resource_class: whole('class'),
      day: whole('day'),
      accelerator_seconds: whole('accelerator-seconds'),
    },
    verb: 'usage',
    summary: 'accelerator-seconds by project, resource class and day',
    example: '--project 7a1f0c9e6f5b4d0f8a52 --from 2026-03-01 --to 2026-04-01',
  },
  incidents: {
    ...listRoutes.incidents,
    key: ['kind', 'hostname', 'device_uuid', 'arq_uuid', 'since'],
    filters: {
      kind: { choices: incidentKinds, help: 'only incidents of this kind' },
      state: openOrEnded,
      host,
    },
    columns: {
      kind: whole('kind'),
      since: whole('since'),
      hostname: whole('host'),
      device_uuid: optional('device'),
      instance_uuid: optional('server'),
      project_id: optional('project'),
      device_profile_name: optional('profile'),
      reason: whole('reason'),
      next_step: whole('next step'),
      action: { title: 'command', isOptional: true, isWhole: true },
      runbook: { ...wide('runbook'), isWhole: true },
      ended_at: optional('ended'),
      ended_by: optional('ended by'),
      arq_uuid: apart('ARQ'),
    },
    verb: 'incidents',
    summary: 'what needs an operator, and the next step',
    example: '--kind quarantine',
    screen: 'Incidents',
  },
  quotas: {
    ...listRoutes.quotas,
    key: ['project_id'],
    filters: {},
    columns: {
      project_id: whole('project'),
      limits: 'limits',
      in_use: 'in use',
      updated_at: 'updated',
    },
    verb: 'quota list',
    summary: 'projects that have a quota',
    example: '',
  },
  profiles: {
    ...listRoutes.profiles,
    key: ['name'],
    filters: {},
    columns: {
      name: whole('profile'),
      groups: 'groups',
      alternatives: { title: 'alternatives', isOptional: true },
      revision: 'revision',
      disabled: { title: 'disabled', isOptional: true, isWhole: true },
      projects: optional('only for projects'),
      description: 'description',
      uuid: apart('uuid'),
      former_names: apart('former names'),
      microversion: apart('microversion'),
      created_by: apart('created by'),
      created_at: apart('created'),
      updated_by: apart('changed by'),
      updated_at: apart('changed'),
    },
    verb: 'profiles list',
    summary: 'device profiles with their revision, state and projects',
    example: '',
  },
  firmware: {
    ...listRoutes.firmware,
    key: ['device_uuid'],
    filters: { model, host, device },
    columns: {
      device_uuid: whole('device'),
      hostname: whole('host'),
      model: whole('model'),
      status: 'status',
      health: optional('health'),
      components: whole('components'),
      programs: optional('programs'),
      shell_deployable_uuid: apart('deployable of the shell'),
    },
    verb: 'firmware list',
    summary: 'what the components of devices run, and their baselines',
    example: '--model 8086:0b30',
  },
  baselines: {
    ...listRoutes.baselines,
    key: ['model', 'component'],
    filters: {},
    columns: {
      model: whole('model'),
      component: whole('component'),
      version: whole('version'),
      by: 'set by',
      at: 'set at',
    },
    verb: 'firmware baseline list',
    summary: 'the versions that components of each model must run',
    example: '',
  },
  holds: {
    ...listRoutes.holds,
    key: ['id'],
    filters: {},
    columns: {
      id: whole('hold'),
      vendor: optional('vendor'),
      model: optional('model'),
      type: optional('type'),
      driver: optional('driver'),
      hostname: optional('host'),
      firmware: optional('firmware'),
      devices: 'devices',
      reason: 'reason',
      until: optional('until'),
      by: wide('by'),
      at: wide('at'),
    },
    verb: 'holds list',
    summary: 'rules that keep devices from new binds, and how many match',
    example: '',
  },
} as const satisfies { readonly [Name in ListName]: List<Name> };
