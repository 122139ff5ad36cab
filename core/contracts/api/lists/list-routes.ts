// Where the lists that operators read are served, and who may read them: what each function of the
// API needs of lists.ts, which has the rest.

import type { PolicyRule } from '#core/domain/policy.ts';
import type { ListName } from './lists.ts';

/** The most rows of one answer of the API. */
export const pageMax = 1000;

export const listRoutes = {
  hosts: { path: '/operator/v1/hosts', rule: 'cyborg:operator:host:get_all' },
  devices: { path: '/v2/devices', rule: 'cyborg:device:get_all' },
  assignments: { path: '/operator/v1/assignments', rule: 'cyborg:operator:assignment:get_all' },
  history: { path: '/operator/v1/history', rule: 'cyborg:operator:history:get_all' },
  usage: { path: '/operator/v1/usage', rule: 'cyborg:operator:usage:get_all' },
  incidents: { path: '/operator/v1/incidents', rule: 'cyborg:operator:incident:get_all' },
  quotas: { path: '/operator/v1/quotas', rule: 'cyborg:operator:quota:get_all' },
  profiles: { path: '/operator/v1/device_profiles', rule: 'cyborg:operator:profile:get_all' },
  firmware: { path: '/operator/v1/firmware', rule: 'cyborg:operator:firmware:get_all' },
  baselines: { path: '/operator/v1/firmware/baselines', rule: 'cyborg:operator:baseline:get_all' },
  holds: { path: '/operator/v1/holds', rule: 'cyborg:operator:hold:get_all' },
} as const satisfies Readonly<
  Record<ListName, { readonly path: string; readonly rule: PolicyRule }>
>;

/** The form of a filter's value; cyborg-ops shows its name. */
export type FilterForm = 'host' | 'uuid' | 'id' | 'name' | 'class' | 'model' | 'time';

export type Filter = { readonly help: string } & (
  | { readonly form: FilterForm }
  | { readonly choices: readonly string[]; readonly byDefault?: string }
);

/** Filters that several lists have, or that are long. */
export const commonFilters = {
  host: { form: 'host', help: 'only on this host' },
  model: { form: 'model', help: 'only of this vendor and product, as 8086:0b30' },
  device: { form: 'uuid', help: 'only of this device' },
  project: { form: 'id', help: 'only of this project' },
  instance: { form: 'uuid', help: 'only of this server' },
  arq: { form: 'uuid', help: 'only of this accelerator request' },
  from: { form: 'time', help: 'from this time on' },
  to: { form: 'time', help: 'before this time' },
  order: {
    choices: ['oldest-first', 'newest-first'],
    byDefault: 'newest-first',
    help: 'order of the records; newest-first without it',
  },
  openOrEnded: {
    choices: ['open', 'ended'],
    byDefault: 'open',
    help: 'open ones, or those that have ended within a month',
  },
} as const;
