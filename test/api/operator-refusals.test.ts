// Queries that the lists of operators refuse, with a sentence that names the fault.

import { expect, it } from 'vitest';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';
import { operatorsApi } from './operators-api.ts';

const world = perFile(startWorld);
const operator = operatorsApi(world);

it.each([
  ['/assignments?colour=red', 'colour'],
  ['/assignments?marker=cmp1', 'marker'],
  ['/assignments?arq=nonsense', 'arq'],
  ['/assignments?instance=7', 'instance'],
  ['/assignments?limit=0', 'limit'],
  ['/assignments?host=', 'host'],
  ['/history?colour=red', 'colour'],
  ['/history?kind=handle.lost', 'kind'],
  ['/history?arq=x', 'arq'],
  ['/history?from=yesterday', 'must be a date such as 2026-03-01'],
  ['/history?host=cmp1&to=9999-12-31T23:59:59-12:00', 'must be a date such as 2026-03-01'],
  ['/history?host=cmp1&from=0000-01-01T00:00:00%2B12:00', 'must be a date such as 2026-03-01'],
  ['/history?from=2026-03-02&to=2026-03-01', 'must be before to'],
  ['/history?from=2026-01-01&to=2026-03-01', 'at most 31 days'],
  ['/history?marker=x', 'must be a marker of a next link'],
  ['/history?order=random', 'order'],
  ['/history?limit=0', 'limit'],
  ['/usage?colour=red', 'colour'],
  ['/usage?resource_class=vgpu', 'must be a resource class'],
  ['/usage?from=2026-03-02&to=2026-03-01', 'must be before to'],
  ['/usage?from=2020-01-01', 'at most 400 days'],
  ['/hosts?colour=red', 'colour'],
  ['/hosts?state=asleep', 'state'],
  ['/hosts?limit=0', 'limit'],
  ['/hosts?limit=1001', 'limit'],
  ['/hosts?marker=cmp9', 'Marker cmp9 could not be found'],
  ['/incidents?colour=red', 'colour'],
  ['/incidents?kind=fire', 'kind'],
  ['/incidents?marker=cmp1', 'Marker cmp1 could not be found'],
  ['/incidents?marker=fire:cmp1', 'Marker fire:cmp1 could not be found'],
])('%s: 400 that names %s', async (query, fault) => {
  const { status, json } = await operator('GET', query);
  expect([status, json.error]).toEqual([400, expect.stringContaining(fault)]);
});
