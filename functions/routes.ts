// The table of routes: resource → path → method → the action, who may call it, and the status of
// success. The action's module is `functions/<resource>/<action>.ts`. One Lambda function serves a
// resource, and its handler does not compile without an action for each of its rows. `infra/` and
// `local/` route to it alike (gateway.ts). All paths but the console's are also served below
// `/accelerator`, where Cyborg's WSGI application is mounted.

import { listRoutes } from '#core/contracts/api/list-routes.ts';
import type { ListName } from '#core/contracts/api/lists.ts';
import type { PolicyRule } from '#core/domain/policy.ts';
import { present } from '#core/shapes/derive/present.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Without a rule the route is open to all, without a token. */
type Row = readonly [action: string, policy: PolicyRule | undefined, success: number];

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
      DELETE: ['delete-many', 'cyborg:device_profile:delete', 204],
    },
    '/v2/device_profiles/{id}': {
      GET: ['get-one', 'cyborg:device_profile:get_one', 200],
      DELETE: ['delete', 'cyborg:device_profile:delete', 204],
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
      PATCH: ['update', 'cyborg:deployable:program', 200],
    },
    '/v2/deployables/{id}/program': { PATCH: ['program', 'cyborg:deployable:program', 200] },
    '/v2/deployables/{id}/program/{id}': { PATCH: ['program', 'cyborg:deployable:program', 200] },
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
    '/operator/v1/hosts/{id}': {
      GET: ['get-host', 'cyborg:operator:host:get_one', 200],
      DELETE: ['forget-host', 'cyborg:operator:host:forget', 204],
    },
    '/operator/v1/hosts/{id}/topology': {
      GET: ['get-topology', 'cyborg:operator:host:get_one', 200],
    },
    '/operator/v1/hosts/{id}/rediscover': {
      POST: ['rediscover-host', 'cyborg:operator:host:rediscover', 202],
    },
    '/operator/v1/hosts/{id}/drain': {
      POST: ['drain-host', 'cyborg:operator:host:drain', 200],
    },
    '/operator/v1/hosts/{id}/resume': {
      POST: ['resume-host', 'cyborg:operator:host:resume', 200],
    },
    '/operator/v1/hosts/{id}/settle': {
      POST: ['settle-host', 'cyborg:operator:host:settle', 200],
    },
    '/operator/v1/devices/{id}/reset': {
      POST: ['reset-device', 'cyborg:operator:device:reset', 202],
    },
    '/operator/v1/devices/{id}/grant': {
      POST: ['grant-device', 'cyborg:operator:device:grant', 200],
    },
    '/operator/v1/devices/{id}/revoke': {
      POST: ['revoke-device', 'cyborg:operator:device:grant', 200],
    },
    '/operator/v1/firmware/baselines/{id}': {
      PUT: ['set-baseline', 'cyborg:operator:baseline:set', 200],
      DELETE: ['delete-baseline', 'cyborg:operator:baseline:delete', 204],
    },
    '/operator/v1/firmware/images/{id}': {
      GET: ['check-image', 'cyborg:operator:firmware:get_image', 200],
    },
    '/operator/v1/device_profiles/{id}': {
      GET: ['get-profile', 'cyborg:operator:profile:get_one', 200],
      PUT: ['update-profile', 'cyborg:operator:profile:update', 200],
    },
    '/operator/v1/device_profiles/{id}/enable': {
      POST: ['enable-profile', 'cyborg:operator:profile:enable', 200],
    },
    '/operator/v1/device_profiles/{id}/disable': {
      POST: ['disable-profile', 'cyborg:operator:profile:disable', 200],
    },
    '/operator/v1/capacity': { GET: ['get-capacity', 'cyborg:operator:capacity:get', 200] },
    '/operator/v1/aggregates': { GET: ['get-aggregates', 'cyborg:operator:host:get_all', 200] },
    '/operator/v1/binds': { GET: ['get-binds', 'cyborg:operator:host:get_all', 200] },
    '/operator/v1/metrics': { GET: ['get-metrics', 'cyborg:operator:host:get_all', 200] },
    '/operator/v1/names': { GET: ['get-names', 'cyborg:operator:name:get_all', 200] },
    '/operator/v1/reconcile': { POST: ['reconcile', 'cyborg:operator:reconcile:run', 200] },
    '/operator/v1/reap': { POST: ['reap', 'cyborg:operator:reap:run', 200] },
    '/operator/v1/quotas/{id}': {
      GET: ['get-quota', 'cyborg:operator:quota:get_one', 200],
      PUT: ['set-quota', 'cyborg:operator:quota:set', 200],
      DELETE: ['delete-quota', 'cyborg:operator:quota:delete', 204],
    },
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
