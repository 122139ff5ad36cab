import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { exampleBody } from '#functions/http/examples.ts';
import { documentedPath } from '#functions/http/openapi.ts';
import { routes } from '#functions/routes.ts';
import { allActions, document } from '#functions/versions/get-openapi.ts';

/** Routes that take a body. */
const rows = routes.flatMap((row) => {
  const schemas = allActions()[row.resource]?.[row.action]?.schemas;
  const body = schemas?.documentedBody ?? schemas?.body;
  return body ? [{ row, body, name: `${row.method} ${row.path}` }] : [];
});

describe('the example of a body', () => {
  it.each(rows)('of $name is accepted by the route', ({ row, body }) => {
    expect(body.safeParse(exampleBody(row)).error?.issues).toBeUndefined();
  });

  it.each(rows)('of $name is in the document', ({ row }) => {
    const { paths } = document('http://localhost') as {
      paths: Record<string, Record<string, { requestBody: { content: object } }>>;
    };
    const operation = paths[documentedPath(row)]?.[row.method.toLowerCase()];
    expect(operation?.requestBody.content).toMatchObject({
      'application/json': { example: exampleBody(row) },
    });
  });
});

describe('the document refuses what the code refuses', () => {
  const groups = [{ 'resources:FPGA': '1' }];
  const arq = '3f1c6b5e-9a4d-7c2b-8e1f-0123456789ab';
  const add = { op: 'add', path: '/hostname', value: 'cmp1' };
  const many = Array.from({ length: 50 }, (_, index) => [
    `3f1c6b5e-9a4d-7c2b-8e1f-${String(index).padStart(12, '0')}`,
    [add],
  ]);

  it.each<[string, string, unknown]>([
    ['a name with a blank', 'device-profiles.create', [{ name: 'a b', groups }]],
    ['a name that is too long', 'device-profiles.create', [{ name: 'a'.repeat(256), groups }]],
    ['no groups', 'device-profiles.create', [{ name: 'a', groups: [] }]],
    ['an empty group', 'device-profiles.create', [{ name: 'a', groups: [{}] }]],
    ['an unknown prefix', 'device-profiles.create', [{ name: 'a', groups: [{ 'x:FPGA': '1' }] }]],
    ['an invalid uuid', 'device-profiles.create', [{ name: 'a', uuid: 'b', groups }]],
    ['no ARQ', 'accelerator-requests.update', {}],
    ['50 ARQs', 'accelerator-requests.update', Object.fromEntries(many)],
    ['an ARQ that is not a uuid', 'accelerator-requests.update', { a: [add] }],
    ['an unknown path', 'accelerator-requests.update', { [arq]: [{ ...add, path: '/state' }] }],
    ['no operation', 'accelerator-requests.update', { [arq]: [] }],
  ])('%s', (_case, action, body) => {
    const { paths } = document('http://localhost') as unknown as {
      paths: Record<string, Record<string, Operation>>;
    };
    const operation = Object.values(paths)
      .flatMap((methods) => Object.values(methods))
      .find(({ operationId }) => operationId === action);
    const schema = operation?.requestBody.content['application/json'].schema;
    if (!schema) throw new TypeError(`The document has no body of ${action}.`);
    expect(z.fromJSONSchema(schema as never).safeParse(body).success).toBe(false);
  });
});

interface Operation {
  readonly operationId: string;
  readonly requestBody: { readonly content: { readonly 'application/json': { schema: object } } };
}
