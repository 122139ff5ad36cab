// The OpenAPI 3.1 document, made from the table of routes and the schemas that validate requests.
// https://spec.openapis.org/oas/v3.1.0

import * as z from 'zod';
import { fault, serverFault, tokenFault } from '#core/contracts/api/shapes.ts';
import { type Resource, type RouteRow, routes } from '#functions/routes.ts';
import type { Action } from './action.ts';
import { exampleBody } from './examples.ts';
import { hasMicroversions, maximum, microversions, minimum } from './request/microversion.ts';

export type Actions = Readonly<Partial<Record<Resource, Readonly<Record<string, Action>>>>>;
type Json = Readonly<Record<string, unknown>>;

/** Error statuses that any route may answer; some depend on a policy or a body. */
function refusalsOf(row: RouteRow, { schemas }: Action): number[] {
  return [
    400,
    ...(row.policy ? [401, 403] : []),
    ...(row.policy && hasMicroversions(row) ? [406] : []),
    ...(schemas.body ? [413, 415] : []),
    ...(schemas.refuses ?? []),
  ].sort();
}

export function openApi(actions: Actions, base: string): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const row of routes) {
    const action = actions[row.resource]?.[row.action];
    if (!action) continue;
    const path = documentedPath(row);
    paths[path] = { ...paths[path], [row.method.toLowerCase()]: operation(row, action) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Accelerator API v2',
      version: maximum,
      description:
        `OpenStack Cyborg's API, microversions ${minimum} to ${maximum}; ` +
        "and below /operator/v1 the operator's API, without microversions.",
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: `${base}/accelerator` }],
    tags: Object.keys(actions).map((name) => ({
      name,
      description: name === 'operator' ? "The operator's API" : "Cyborg's API",
    })),
    paths,
    components: {
      schemas: {
        Fault: toJson(fault, 'output'),
        TokenFault: toJson(tokenFault, 'output'),
        ServerFault: toJson(serverFault, 'output'),
      },
      securitySchemes: {
        token: { type: 'apiKey', in: 'header', name: 'X-Auth-Token' },
        serviceToken: { type: 'apiKey', in: 'header', name: 'X-Service-Token' },
      },
    },
  };
}

/** OpenAPI wants each parameter of a path to have its own name: `{id}` must not appear twice. */
export function documentedPath({ path }: RouteRow): string {
  return path.replace('/program/{id}', '/program/{same_id}').replace('/openapi', '/openapi.json');
}

function operation(row: RouteRow, action: Action): Json {
  const { schemas } = action;
  const body = schemas.documentedBody ?? schemas.body;
  return {
    operationId: `${row.resource}.${row.action}${row.path.match(/\{id\}/g)?.length ?? ''}`,
    tags: [row.resource],
    ...(row.policy && { security: [{ token: [] }, { token: [], serviceToken: [] }] }),
    ...(row.policy && { 'x-openstack-policy': row.policy }),
    parameters: [...pathParameters(row), ...queryParameters(schemas.query), ...headers(row)],
    ...(body && {
      requestBody: {
        required: !body.safeParse(undefined).success,
        content: {
          'application/json': { schema: toJson(body, 'input'), example: exampleBody(row) },
        },
      },
    }),
    responses: responses(row, action),
  };
}

function pathParameters(row: RouteRow): Json[] {
  return [...documentedPath(row).matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } };
  });
}

function queryParameters(query: z.ZodType): Json[] {
  const { properties = {} } = toJson(query, 'input') as { properties?: Record<string, Json> };
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema }));
}

function headers(row: RouteRow): Json[] {
  if (!row.policy || !hasMicroversions(row)) return [];
  const versions = [...microversions, 'latest'].map((version) => `accelerator ${version}`);
  return [
    { name: 'OpenStack-API-Version', in: 'header', schema: { type: 'string', examples: versions } },
  ];
}

function responses(row: RouteRow, action: Action): Json {
  const { answersAs: text } = action.schemas;
  const answered = Object.entries(action.schemas.answers).map(([status, schema]) => [
    status,
    {
      description: 'Done.',
      ...(schema && { content: { 'application/json': { schema: toJson(schema, 'output') } } }),
      ...(text && { content: { [text]: { schema: { type: 'string' } } } }),
    },
  ]);
  const refused = refusalsOf(row, action).map((status) => [
    status,
    {
      description: reasons[status],
      ...content(status === 401 ? ['TokenFault', 'Fault'] : ['Fault']),
    },
  ]);
  const failed = { description: 'Unhandled exception', ...content(['ServerFault']) };
  return { ...Object.fromEntries([...answered, ...refused]), '5XX': failed };
}

const reasons: Readonly<Record<number, string>> = {
  400: 'The request is not valid.',
  401: 'No valid token; for device profiles at 2.0, also a refusal by policy.',
  403: 'Policy does not allow it, or it needs a service token.',
  404: 'Not found, or not visible to the caller.',
  406: 'The microversion does not exist, or lacks the request.',
  409: 'The current state does not allow the request.',
  413: 'The body is larger than 1 MiB.',
  415: 'The body is not application/json.',
  422: 'The request cannot be processed, by the device profile specification.',
  423: 'Not all accelerator requests of the instance are resolved.',
};

function content(names: readonly string[]): Json {
  const references = names.map((name) => ({ $ref: `#/components/schemas/${name}` }));
  const schema = references.length === 1 ? references[0] : { anyOf: references };
  return { content: { 'application/json': { schema } } };
}

function toJson(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return json;
}
