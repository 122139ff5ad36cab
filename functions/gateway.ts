// The API Gateway's routes, from the table of routes. Every request below a resource's paths goes
// to the function of that resource, every other request to `versions`. The functions answer 404
// and 405, not the gateway, so that a trailing slash, a `.json` suffix and an unknown method are
// answered alike everywhere.

import { type Resource, routes } from './routes.ts';

/** The path at which Cyborg's WSGI application is mounted, and the bare API. */
const mounts = ['/accelerator', ''];

export interface GatewayRoute {
  /** In API Gateway's form without the method; `$default` takes other paths. */
  readonly path: string;
  readonly resource: Resource;
  /** Absent for all methods that have no route of their own. */
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
}

/**
 * What Nova calls for each server. API Gateway limits requests by route, so that a route of each
 * method serves as many servers as one of a single call.
 */
const novaCalls: readonly Pick<GatewayRoute, 'path' | 'method'>[] = [
  { path: '/v2/device_profiles', method: 'GET' },
  { path: '/v2/accelerator_requests', method: 'GET' },
  { path: '/v2/accelerator_requests', method: 'POST' },
  { path: '/v2/accelerator_requests', method: 'PATCH' },
  { path: '/v2/accelerator_requests', method: 'DELETE' },
];

/** A route for sign-ins gives them a limit of their own: see infra/settings/throttling.ts. */
export const signInPath = '/console/sign-in';

/** A page has one address: the console is served below no other mount, and without suffixes. */
const consoleRoutes = ['/console', '/console/', signInPath, '/console/{proxy+}'];

/** Collections of the API, e.g. `/v2/device_profiles`, and their resources; and `/operator/v1`. */
const collections = new Map(
  routes
    .filter((row) => row.resource !== 'versions' && row.resource !== 'console')
    .map((row) => [row.path.split('/').slice(0, 3).join('/'), row.resource]),
);

export const gatewayRoutes: readonly GatewayRoute[] = [
  ...mounts.flatMap((mount) =>
    [...collections].flatMap(([collection, resource]) =>
      routesOf(collection).map((route) => ({ ...route, path: `${mount}${route.path}`, resource })),
    ),
  ),
  ...consoleRoutes.map((path) => ({ path, resource: 'console' as const })),
  { path: '$default', resource: 'versions' },
];

/** Routes of a collection; each counts towards the account's quota. */
function routesOf(collection: string): Pick<GatewayRoute, 'path' | 'method'>[] {
  const isServed = routes.some(({ path }) => path === collection);
  const endings = [...(isServed ? ['', '/', '.json'] : []), '/{proxy+}'];
  return [
    ...novaCalls.filter(({ path }) => path === collection),
    ...endings.map((rest) => ({ path: `${collection}${rest}` })),
  ];
}

/**
 * The function that API Gateway calls: an exact route comes before a greedy one, and that before
 * the default.
 */
export function resourceFor(path: string): Resource {
  const exact = gatewayRoutes.find((route) => route.path === path);
  const greedy = gatewayRoutes.find(
    (route) =>
      route.path.endsWith('{proxy+}') &&
      path.startsWith(route.path.slice(0, -'{proxy+}'.length)) &&
      path.length > route.path.length - '{proxy+}'.length,
  );
  return (exact ?? greedy)?.resource ?? 'versions';
}
