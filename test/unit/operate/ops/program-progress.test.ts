// How far a device is with an image, by the API's answer.

import { expect, it } from 'vitest';
import { progressOf } from '#operate/ops/verbs/firmware/programs.ts';

const wanted = { component: 'bmc', image: 'ours', version: '2.0' };

it.each([
  ['1.0', undefined, null, { is: 'open', runs: '1.0' }],
  ['2.0', undefined, 'is hot', { is: 'done' }],
  ['1.0', ['ours', 'draining'], null, { is: 'under-way', state: 'draining' }],
  ['2.0', ['ours', 'started'], null, { is: 'under-way', state: 'started' }],
  ['2.0', ['ours', 'of-a-later-version'], null, { is: 'under-way', state: 'of-a-later-version' }],
  ['1.0', ['other', 'started'], null, { is: 'open', runs: '1.0' }],
  ['1.0', ['ours', 'failed'], null, { is: 'failed', reason: 'why' }],
  ['2.0', ['ours', 'failed'], null, { is: 'done' }],
  ['1.0', ['ours', 'done'], null, { is: 'behind', runs: '1.0' }],
  ['2.0', ['ours', 'done'], 'is hot', { is: 'unhealthy', reason: 'is hot' }],
  ['2.0', ['ours', 'done'], null, { is: 'done' }],
] as const)('runs %s, program %j, health %j', (version, program, health, expected) => {
  const [image_uuid, state] = program ?? [];
  const programs = program ? [{ what: 'bmc', image_uuid, state, reason: 'why' }] : [];
  const components = [{ name: 'bmc', version }];
  const row = { device_uuid: 'd', hostname: 'h', model: 'm', components, programs, health };
  expect(progressOf(row, wanted)).toEqual(expected);
});
