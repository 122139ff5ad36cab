// The guide of `npm start` names only what is there: no token of a fake that another service
// replaces.

import { expect, it } from 'vitest';
import { guideLines } from '#local/guide.ts';
import { staticTokens } from '#local/openstack/keystone/catalog.ts';
import { type Layout, type PortName, portNames } from '#local/process/layout.ts';

const layout = (...replaced: readonly PortName[]): Layout => ({
  stage: 'dev',
  directory: '/state',
  logDirectory: '/state/logs',
  replaced,
  ports: Object.fromEntries(portNames.map((name, at) => [name, 17_000 + at])) as Layout['ports'],
});
const cloud = { KEYSTONE_URL: 'http://cloud:5000/v3', NOVA_URL: 'http://cloud:8774/v2.1' };
const guide = (...replaced: readonly PortName[]) =>
  guideLines(layout(...replaced), '.local/dev', cloud).join('\n');

it('has the clients of OpenStack first, and a call without them', () => {
  const text = guide();
  expect(text).toContain('OS_CLIENT_CONFIG_FILE="$PWD/.local/dev/clouds.yaml" OS_CLOUD=admin');
  expect(text).toContain('-H "X-Auth-Token: demo-token"');
  expect(text).toContain('http://127.0.0.1:17008/v2.1/servers');
  expect(guideLines(layout(), '/state', cloud).join('\n')).toContain('="/state/clouds.yaml"');
});

it('with another Keystone takes tokens from it', () => {
  const text = guide('keystone');
  expect(text).toContain('keystone   http://cloud:5000/v3 (from KEYSTONE_URL)');
  expect(text).toContain('TOKEN=$(openstack token issue -f value -c id)');
  expect(text).toContain('-H "X-Auth-Token: $TOKEN"');
  for (const token of Object.keys(staticTokens)) expect(text).not.toContain(token);
});

it('with another Nova boots the server by the client of OpenStack', () => {
  const text = guide('keystone', 'nova');
  expect(text).toContain('openstack server create vm1 --flavor accel');
  expect(text).not.toContain('127.0.0.1:17008');
});
