// The table of routes: resource → path → method → the action, who may call it, and the status of
// success. The action's module is `functions/<resource>/<action>.ts`. One Lambda function serves a
// resource, and its handler does not compile without an action for each of its rows. `infra/` and
// `local/` route to it alike (gateway.ts). All paths but the console's are also served below
// `/accelerator`, where Cyborg's WSGI application is mounted.

import { listRoutes } from '#core/contracts/api/lists/list-routes.ts';
import type { ListName } from '#core/contracts/api/lists/lists.ts';
import type { PolicyRule } from '#core/domain/policy.ts';
import { present } from '#core/shapes/derive/present.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Without a rule the route is open to all, without a token. */
type Row = readonly [action: string, policy: PolicyRule | undefined, success: number];

// Several rows have these, and each bundle has the rows.
const programRule = 'cyborg:deployable:program';
const oneHostRule = 'cyborg:operator:host:get_one';
const grantRule = 'cyborg:operator:device:grant';
const holdRule = 'cyborg:operator:hold:set';
const deletionRule = 'cyborg:device_profile:delete';

const table = {
  versions: {
    '/': { GET: ['get-root', undefined, 200] },
    '/v2': { GET: ['get-v2', undefined, 200] },
    // Served as `/openapi.json`: gateway.ts takes the suffix off.
    '/openapi': { GET: ['get-openapi', undefined, 200] },
  },
  'device-profiles': {
    '/v2/device_profiles': {
      GET: ['get-all', 'cyborg:device_profile:get_all', 200],
      POST: ['create', 'cyborg:device_profile:create', 201],
      DELETE: ['delete-many', deletionRule, 204],
    },
    '/v2/device_profiles/{id}': {
      GET: ['get-one', 'cyborg:device_profile:get_one', 200],
      DELETE: ['delete', deletionRule, 204],
    },
  },
  'accelerator-requests': {
    '/v2/accelerator_requests': {
      GET: ['get-all', 'cyborg:arq:get_all', 200],
      POST: ['create', 'cyborg:arq:create', 201],
      PATCH: ['update', 'cyborg:arq:update', 202],
      DELETE: ['delete', 'cyborg:arq:delete', 204],
    },
    '/v2/accelerator_requests/{id}': {
      GET: ['get-one', 'cyborg:arq:get_one', 200],
      // The SDK names one of the ARQs in the path, too; the body has all of them.
      PATCH: ['update', 'cyborg:arq:update', 202],
      DELETE: ['delete', 'cyborg:arq:delete', 204],
    },
  },
  devices: {
    [listRoutes.devices.path]: { GET: ['get-all', listRoutes.devices.rule, 200] },
    '/v2/devices/{id}': {
      GET: ['get-one', 'cyborg:device:get_one', 200],
      PATCH: ['update', 'cyborg:device:update', 204],
    },
    '/v2/devices/{id}/enable': { POST: ['enable', 'cyborg:device:enable', 204] },
    '/v2/devices/{id}/disable': { POST: ['disable', 'cyborg:device:disable', 204] },
    '/v2/devices/{id}/force_release': {
      POST: ['force-release', 'cyborg:device:force_release', 200],
    },
  },
  deployables: {
    '/v2/deployables': { GET: ['get-all', 'cyborg:deployable:get_all', 200] },
    '/v2/deployables/{id}': {
      GET: ['get-one', 'cyborg:deployable:get_one', 200],
      PATCH: ['update', programRule, 200],
    },
    '/v2/deployables/{id}/program': { PATCH: ['program', programRule, 200] },
    '/v2/deployables/{id}/program/{id}': { PATCH: ['program', programRule, 200] },
  },
  attributes: {
    '/v2/attributes': {
      GET: ['get-all', 'cyborg:attribute:get_all', 200],
      POST: ['create', 'cyborg:attribute:create', 201],
    },
    '/v2/attributes/{id}': {
      GET: ['get-one', 'cyborg:attribute:get_one', 200],
      DELETE: ['delete', 'cyborg:attribute:delete', 204],
    },
  },
  // Beside Cyborg's API, and without microversions.
  operator: {
    ...operatorLists(),
    ...below({
      '/hosts/{id}': {
        GET: ['get-host', oneHostRule, 200],
        DELETE: ['forget-host', 'cyborg:operator:host:forget', 204],
      },
      '/hosts/{id}/topology': {
        GET: ['get-topology', oneHostRule, 200],
      },
      '/hosts/{id}/rediscover': {
        POST: ['rediscover-host', 'cyborg:operator:host:rediscover', 202],
      },
      '/hosts/{id}/drain': {
        POST: ['drain-host', 'cyborg:operator:host:drain', 200],
      },
      '/hosts/{id}/resume': {
        POST: ['resume-host', 'cyborg:operator:host:resume', 200],
      },
      '/hosts/{id}/settle': {
        POST: ['settle-host', 'cyborg:operator:host:settle', 200],
      },
      '/devices/{id}/reset': {
        POST: ['reset-device', 'cyborg:operator:device:reset', 202],
      },
      '/devices/{id}/grant': {
        POST: ['grant-device', grantRule, 200],
      },
      '/devices/{id}/revoke': {
        POST: ['revoke-device', grantRule, 200],
      },
      '/holds': {
        GET: ['get-holds', listRoutes.holds.rule, 200],
        POST: ['create-hold', holdRule, 200],
      },
      '/holds/{id}': {
        GET: ['get-hold', listRoutes.holds.rule, 200],
        DELETE: ['end-hold', holdRule, 204],
      },
      '/firmware/baselines/{id}': {
        PUT: ['set-baseline', 'cyborg:operator:baseline:set', 200],
        DELETE: ['delete-baseline', 'cyborg:operator:baseline:delete', 204],
      },
      '/firmware/images/{id}': {
        GET: ['check-image', 'cyborg:operator:firmware:get_image', 200],
      },
      '/device_profiles/{id}': {
        GET: ['get-profile', 'cyborg:operator:profile:get_one', 200],
        PUT: ['update-profile', 'cyborg:operator:profile:update', 200],
      },
      '/device_profiles/{id}/enable': {
        POST: ['enable-profile', 'cyborg:operator:profile:enable', 200],
      },
      '/device_profiles/{id}/disable': {
        POST: ['disable-profile', 'cyborg:operator:profile:disable', 200],
      },
      '/capacity': { GET: ['get-capacity', 'cyborg:operator:capacity:get', 200] },
      '/aggregates': { GET: ['get-aggregates', listRoutes.hosts.rule, 200] },
      '/binds': { GET: ['get-binds', listRoutes.hosts.rule, 200] },
      '/metrics': { GET: ['get-metrics', listRoutes.hosts.rule, 200] },
      '/names': { GET: ['get-names', 'cyborg:operator:name:get_all', 200] },
      '/report': { GET: ['get-report', listRoutes.hosts.rule, 200] },
      '/reconcile': { POST: ['reconcile', 'cyborg:operator:reconcile:run', 200] },
      '/reap': { POST: ['reap', 'cyborg:operator:reap:run', 200] },
      '/quotas/{id}': {
        GET: ['get-quota', 'cyborg:operator:quota:get_one', 200],
        PUT: ['set-quota', 'cyborg:operator:quota:set', 200],
        DELETE: ['delete-quota', 'cyborg:operator:quota:delete', 204],
      },
    }),
  },
  // The operators' web page: its files are the same for all callers, and a sign-in has no token.
  console: {
    '/console': { GET: ['get-page', undefined, 200] },
    '/console/sign-in': { POST: ['sign-in', undefined, 200] },
    '/console/{id}': { GET: ['get-file', undefined, 200] },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Methods>>>>;

type Methods = Readonly<Partial<Record<Method, Row>>>;

type ListRoutes = {
  readonly [Name in Exclude<ListName, 'devices'> as (typeof listRoutes)[Name]['path']]: {
    readonly GET: readonly [`get-${Name}`, PolicyRule, 200];
  };
};

type Below<Table> = {
  readonly [Path in keyof Table & string as `/operator/v1${Path}`]: Table[Path];
};

/** Each bundle has the table: the paths are shorter without what they share. */
function below<const Table extends Readonly<Record<string, Methods>>>(rows: Table): Below<Table> {
  const entries = Object.entries(rows).map(([path, methods]) => [`/operator/v1${path}`, methods]);
  return Object.fromEntries(entries);
}

/** The operators' own lists; devices are Cyborg's. */
function operatorLists(): ListRoutes {
  const { devices: _, ...others } = listRoutes;
  const rows = Object.entries(others).map(([name, { path, rule }]) => [
    path,
    { GET: [`get-${name}`, rule, 200] },
  ]);
  return Object.fromEntries(rows);
}

export type Resource = keyof typeof table;

/** The names of a resource's actions: those of its rows, and no other. */
export type ActionName<Of extends Resource> = ActionOf<InValues<InValues<(typeof table)[Of]>>>;
type InValues<T> = T extends unknown ? T[keyof T] : never;
type ActionOf<T> = T extends readonly [infer Name extends string, ...unknown[]] ? Name : never;

export interface RouteRow {
  readonly method: Method;
  /** `{id}` is one segment. */
  readonly path: string;
  readonly resource: Resource;
  readonly action: string;
  readonly policy?: PolicyRule;
  readonly success: number;
}

export const routes: readonly RouteRow[] = Object.entries(table).flatMap(([resource, paths]) =>
  Object.entries<Methods>(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, [action, policy, success]]) => ({
      method: method as Method,
      path,
      resource: resource as Resource,
      action,
      ...present({ policy }),
      success,
    })),
  ),
);
