import { describe, expect, it } from 'vitest';
import { exampleBody } from '#functions/http/examples.ts';
import { documentedPath } from '#functions/http/openapi.ts';
import { routes } from '#functions/routes.ts';
import { allActions, document } from '#functions/versions/get-openapi.ts';

/** Those that take a body. */
const rows = routes.flatMap((row) => {
  const schemas = allActions()[row.noun]?.[row.action]?.schemas;
  const body = schemas?.documentedBody ?? schemas?.body;
  return body ? [{ row, body, name: `${row.method} ${row.path}` }] : [];
});

describe('the example of a body', () => {
  it.each(rows)('of $name is one that the route takes', ({ row, body }) => {
    expect(body.safeParse(exampleBody(row)).error?.issues).toBeUndefined();
  });

  it.each(rows)('of $name stands in the document', ({ row }) => {
    const { paths } = document('http://localhost') as {
      paths: Record<string, Record<string, { requestBody: { content: object } }>>;
    };
    const operation = paths[documentedPath(row)]?.[row.method.toLowerCase()];
    expect(operation?.requestBody.content).toMatchObject({
      'application/json': { example: exampleBody(row) },
    });
  });
});
