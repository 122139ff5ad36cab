// The table of contents. Each row is served by the module `functions/<resource>/<action>.ts`; the action
// is the policy's. One Lambda function serves a resource, and `infra/` and `local/` route to it alike
// (gateway.ts). All paths are served below `/accelerator`, too, where Cyborg's WSGI application is mounted.

import type { PolicyRule } from '#core/domain/policy.ts';

export type Resource =
  | 'versions'
  | 'device-profiles'
  | 'accelerator-requests'
  | 'devices'
  | 'deployables'
  | 'attributes';

export interface RouteRow {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** `{id}` is one segment. */
  readonly path: string;
  readonly resource: Resource;
  readonly action: string;
  /** Undefined: open to all, without a token. */
  readonly policy?: PolicyRule;
  readonly success: number;
}

export const routes: readonly RouteRow[] = [
  row('GET', '/', 'versions', 'get-root', undefined, 200),
  row('GET', '/v2', 'versions', 'get-v2', undefined, 200),
  // As `/openapi.json`: the suffix is nobody's part of a path.
  row('GET', '/openapi', 'versions', 'get-openapi', undefined, 200),

  row(
    'GET',
    '/v2/device_profiles',
    'device-profiles',
    'get-all',
    'cyborg:device_profile:get_all',
    200,
  ),
  row(
    'POST',
    '/v2/device_profiles',
    'device-profiles',
    'create',
    'cyborg:device_profile:create',
    201,
  ),
  row(
    'DELETE',
    '/v2/device_profiles',
    'device-profiles',
    'delete-many',
    'cyborg:device_profile:delete',
    204,
  ),
  row(
    'GET',
    '/v2/device_profiles/{id}',
    'device-profiles',
    'get-one',
    'cyborg:device_profile:get_one',
    200,
  ),
  row(
    'DELETE',
    '/v2/device_profiles/{id}',
    'device-profiles',
    'delete',
    'cyborg:device_profile:delete',
    204,
  ),

  row(
    'GET',
    '/v2/accelerator_requests',
    'accelerator-requests',
    'get-all',
    'cyborg:arq:get_all',
    200,
  ),
  row(
    'POST',
    '/v2/accelerator_requests',
    'accelerator-requests',
    'create',
    'cyborg:arq:create',
    201,
  ),
  row(
    'PATCH',
    '/v2/accelerator_requests',
    'accelerator-requests',
    'update',
    'cyborg:arq:update',
    202,
  ),
  row(
    'DELETE',
    '/v2/accelerator_requests',
    'accelerator-requests',
    'delete',
    'cyborg:arq:delete',
    204,
  ),
  row(
    'GET',
    '/v2/accelerator_requests/{id}',
    'accelerator-requests',
    'get-one',
    'cyborg:arq:get_one',
    200,
  ),
  // The SDK names one of the ARQs in the path, too; the body says all.
  row(
    'PATCH',
    '/v2/accelerator_requests/{id}',
    'accelerator-requests',
    'update',
    'cyborg:arq:update',
    202,
  ),
  row(
    'DELETE',
    '/v2/accelerator_requests/{id}',
    'accelerator-requests',
    'delete',
    'cyborg:arq:delete',
    204,
  ),

  row('GET', '/v2/devices', 'devices', 'get-all', 'cyborg:device:get_all', 200),
  row('GET', '/v2/devices/{id}', 'devices', 'get-one', 'cyborg:device:get_one', 200),

  row('PATCH', '/v2/devices/{id}', 'devices', 'update', 'cyborg:device:update', 204),
  row('POST', '/v2/devices/{id}/enable', 'devices', 'enable', 'cyborg:device:enable', 204),
  row('POST', '/v2/devices/{id}/disable', 'devices', 'disable', 'cyborg:device:disable', 204),
  row(
    'POST',
    '/v2/devices/{id}/force_release',
    'devices',
    'force-release',
    'cyborg:device:force_release',
    200,
  ),

  row('GET', '/v2/deployables', 'deployables', 'get-all', 'cyborg:deployable:get_all', 200),
  row('GET', '/v2/deployables/{id}', 'deployables', 'get-one', 'cyborg:deployable:get_one', 200),
  row('PATCH', '/v2/deployables/{id}', 'deployables', 'update', 'cyborg:deployable:program', 200),
  row(
    'PATCH',
    '/v2/deployables/{id}/program',
    'deployables',
    'program',
    'cyborg:deployable:program',
    200,
  ),
  row(
    'PATCH',
    '/v2/deployables/{id}/program/{id}',
    'deployables',
    'program',
    'cyborg:deployable:program',
    200,
  ),

  row('GET', '/v2/attributes', 'attributes', 'get-all', 'cyborg:attribute:get_all', 200),
  row('POST', '/v2/attributes', 'attributes', 'create', 'cyborg:attribute:create', 201),
  row('GET', '/v2/attributes/{id}', 'attributes', 'get-one', 'cyborg:attribute:get_one', 200),
  row('DELETE', '/v2/attributes/{id}', 'attributes', 'delete', 'cyborg:attribute:delete', 204),
];

function row(
  method: RouteRow['method'],
  path: string,
  resource: Resource,
  action: string,
  policy: PolicyRule | undefined,
  success: number,
): RouteRow {
  return { method, path, resource, action, ...(policy && { policy }), success };
}
