// Refusals of a request before its content matters.

import { expect, it } from 'vitest';
import { refused, sentenceOf } from '#test/support/refusals.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Ask, startWorld } from '#test/support/world.ts';

const arqs = '/v2/accelerator_requests';
const missing = '99999999-0000-4000-8000-000000000009';
const nova: Ask = { token: 'demo-token', serviceToken: 'nova-token' };

const world = perFile(startWorld);
type Case = [
  name: string,
  method: string,
  path: string,
  ask: () => Ask,
  status: number,
  sentence: () => string,
];

it.each<Case>([
  [
    'malformed JSON',
    'POST',
    arqs,
    () => ({ ...nova, body: '{"device' }),
    400,
    () => 'not valid JSON',
  ],
  [
    'no body',
    'POST',
    arqs,
    () => ({ ...nova, headers: { 'Content-Type': 'application/json' } }),
    400,
    () => 'needs a body',
  ],
  [
    'another media type',
    'POST',
    arqs,
    () => ({ ...nova, body: '{}', headers: { 'Content-Type': 'text/plain' } }),
    415,
    () => 'text/plain',
  ],
  [
    'more than a megabyte',
    'POST',
    arqs,
    () => ({ ...nova, body: JSON.stringify({ device_profile_name: 'x'.repeat(2 ** 20) }) }),
    413,
    () => 'larger',
  ],
  ['an unknown path of the API', 'GET', '/v2/nope', () => nova, 404, () => '/v2/nope'],
  ['a method that the path does not have', 'DELETE', '/v2/devices', () => nova, 405, () => 'GET'],
  [
    'a version out of range',
    'GET',
    arqs,
    () => ({ ...nova, microversion: 'accelerator 2.9' }),
    406,
    () => '2.9',
  ],
  [
    'a version of another service alone',
    'GET',
    arqs,
    () => ({ ...nova, microversion: 'compute 2.1' }),
    406,
    () => 'compute 2.1',
  ],
  [
    'a reader who creates',
    'POST',
    arqs,
    () => ({ token: 'reader-token', body: { device_profile_name: 'fpga' } }),
    403,
    () => 'cyborg:arq:create',
  ],
  [
    'a member who reads devices',
    'GET',
    '/v2/devices',
    () => ({ token: 'demo-token' }),
    403,
    () => 'cyborg:device:get_all',
  ],
  [
    'a system-scoped token',
    'GET',
    arqs,
    () => ({ token: 'system-admin-token' }),
    403,
    () => 'not scoped to a project',
  ],
  ['an unknown device', 'GET', `/v2/devices/${missing}`, () => ({}), 404, () => missing],
  ['an unknown deployable', 'GET', `/v2/deployables/${missing}`, () => ({}), 404, () => missing],
  ['an unknown marker', 'GET', `/v2/devices?marker=${missing}`, () => ({}), 400, () => missing],
  ['a limit of zero', 'GET', '/v2/devices?limit=0', () => ({}), 400, () => 'limit'],
])('%s is refused', async (_name, method, path, ask, status, sentence) => {
  const answer = await refused(world, method, path, ask());
  expect([answer.status, sentenceOf(answer)]).toEqual([
    status,
    expect.stringContaining(sentence()),
  ]);
  expect(answer.headers.get('x-openstack-request-id')).toMatch(/^req-/);
});
