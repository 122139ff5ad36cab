// clouds.yaml in the forms that openstacksdk reads: YAML 1.1, profiles, dashes and auth_types.

import { describe, expect, it } from 'vitest';
import { readCloud } from '#operate/ops/sign-in/cloud-files.ts';
import { readCredentials } from '#operate/ops/sign-in/credentials.ts';

type Files = Readonly<Record<string, string>>;

const here = '/home/op/.config/openstack/clouds.yaml';
const vendors = '/home/op/.config/openstack/clouds-public.yaml';

function credentialsOf(name: string, files: Files, more: Readonly<Record<string, string>> = {}) {
  const environment = { HOME: '/home/op', OS_CLOUD: name, ...more };
  const cloud = readCloud(name, environment, (path) => files[path]);
  return readCredentials({ options: {}, environment, cloud });
}

const cloud = (...lines: readonly string[]) =>
  ['clouds:', '  ops:', ...lines.map((line) => `    ${line}`), ''].join('\n');
const auth = 'auth: {auth_url: "https://k", username: op, password: s, project_name: p}';

describe('a file with merge keys', () => {
  const file = `
x-base: &base
  auth: &auth
    auth_url: https://k
    username: admin
    password: demo-secret
    project_name: admin
    user_domain_name: Default
    project_domain_name: Default
  region_name: RegionOne
clouds:
  ops:
    <<: *base
  ops-demo:
    <<: *base
    auth:
      <<: *auth
      project_name: demo
`;

  it.each([
    ['ops', 'admin'],
    ['ops-demo', 'demo'],
  ])('gives %s the project %s', (name, project) => {
    expect(credentialsOf(name, { [here]: file })).toMatchObject({
      authUrl: 'https://k',
      region: 'RegionOne',
      identity: { password: { user: { name: 'admin', domain: { name: 'Default' } } } },
      scope: { project: { name: project, domain: { name: 'Default' } } },
    });
  });
});

describe('a value', () => {
  it.each([
    ['verify: no', true],
    ['verify: off', true],
    ['verify: "false"', true],
    ['verify: yes', false],
    ['insecure: on', true],
    ['insecure: no', false],
    ['cacert: ~', false],
  ])('is read as by YAML 1.1: %s', (line, isInsecure) => {
    const text = cloud(auth, line);
    expect(credentialsOf('ops', { [here]: text })).toMatchObject({ isInsecure, caFile: undefined });
  });

  it('of a name with dashes is that of the name with underscores', () => {
    const text = cloud(
      'auth: {auth-url: "https://k", username: op, password: s, project-id: p1, user-domain-id: u}',
      'region-name: Two',
      'endpoint-type: internalURL',
    );
    expect(credentialsOf('ops', { [here]: text })).toMatchObject({
      authUrl: 'https://k',
      region: 'Two',
      interface: 'internal',
      identity: { password: { user: { domain: { id: 'u' } } } },
      scope: { project: { id: 'p1' } },
    });
  });

  it('that a key has twice is the last one', () => {
    const text = cloud(auth, 'region_name: One', 'region_name: Two');
    expect(credentialsOf('ops', { [here]: text }).region).toBe('Two');
  });

  it('of cacert may begin with the home directory', () => {
    const text = cloud(auth, 'cacert: ~/ca.pem');
    expect(credentialsOf('ops', { [here]: text }).caFile).toBe('/home/op/ca.pem');
  });

  it.each(['regions: [Two, Three]', 'regions: [{name: Two, values: {}}, Three]'])(
    'of the region is the first of the list: %s',
    (line) => {
      expect(credentialsOf('ops', { [here]: cloud(auth, line) }).region).toBe('Two');
    },
  );
});

describe('a profile', () => {
  const text = cloud('profile: vendor', 'auth: {username: op, password: s, project_name: p}');
  const open = `public-clouds:
  vendor:
    auth: {auth_url: "https://{region_name}.vendor.test/v3", user_domain_name: V, username: no one}
    region_name: east
    interface: internal
`;

  it('of clouds-public.yaml gives what the cloud does not have', () => {
    expect(credentialsOf('ops', { [here]: text, [vendors]: open })).toMatchObject({
      authUrl: 'https://east.vendor.test/v3',
      interface: 'internal',
      identity: { password: { user: { name: 'op', domain: { name: 'V' } } } },
    });
  });

  it('that no file has is named with the cloud, its file and what to set', () => {
    expect(() => credentialsOf('ops', { [here]: text })).toThrow(
      `Cloud ops of ${here} has the profile vendor, which no clouds-public.yaml has: set auth.auth_url there.`,
    );
  });

  it('that no file has is not needed where the cloud has a URL', () => {
    const files = { [here]: cloud('profile: vendor', auth) };
    expect(credentialsOf('ops', files).authUrl).toBe('https://k');
  });
});

it('a cloud may have all of its settings in secure.yaml', () => {
  const files = {
    [here]: 'clouds: {}',
    '/home/op/.config/openstack/secure.yaml': cloud(auth),
  };
  expect(credentialsOf('ops', files).authUrl).toBe('https://k');
});

describe('the auth_type', () => {
  it.each([
    ['password', 'password'],
    ['v3password', 'password'],
  ])('%s signs in by %s', (type, method) => {
    const text = cloud(`auth_type: ${type}`, auth);
    expect(credentialsOf('ops', { [here]: text }).identity.methods).toEqual([method]);
  });

  it('may have its older name auth_plugin', () => {
    const text = cloud('auth_plugin: v3token', 'auth: {auth_url: "https://k", auth_token: t}');
    expect(credentialsOf('ops', { [here]: text }).identity).toEqual({
      methods: ['token'],
      token: { id: 't' },
    });
  });

  it('v3applicationcredential signs in without a scope', () => {
    const text = cloud(
      'auth_type: v3applicationcredential',
      'auth: {auth_url: "https://k", application_credential_id: a, application_credential_secret: s}',
    );
    expect(credentialsOf('ops', { [here]: text })).toMatchObject({
      identity: { application_credential: { id: 'a', secret: 's' } },
      scope: undefined,
    });
  });

  it('admin_token needs no sign-in', () => {
    const text = cloud('auth_type: admin_token', 'auth: {endpoint: "https://api/v2", token: t}');
    expect(credentialsOf('ops', { [here]: text })).toMatchObject({
      endpoint: 'https://api/v2',
      readyToken: 't',
    });
  });

  it.each(['v3oidcpassword', 'v3oidcauthcode', 'v3samlpassword', 'v3kerberos', 'v3totp'])(
    '%s is refused by its name, with what to do',
    (type) => {
      const reading = () => credentialsOf('ops', { [here]: cloud(`auth_type: ${type}`, auth) });
      expect(reading).toThrow(
        `OS_AUTH_TYPE ${type} (Cloud ops of ${here}, key auth_type) must be one of password, token,`,
      );
      expect(reading).toThrow('set OS_TOKEN and OS_AUTH_TYPE=token');
    },
  );
});

it.each([
  ['auth_url', 'auth: {username: op, password: s}', 'has no auth.auth_url'],
  ['username', 'auth: {auth_url: "https://k", password: s}', 'has no auth.username'],
  ['password', 'auth: {auth_url: "https://k", username: op}', 'has no auth.password'],
])('a missing %s is named with the cloud and its file', (_, line, sentence) => {
  expect(() => credentialsOf('ops', { [here]: cloud(line) })).toThrow(
    `Cloud ops of ${here} ${sentence}`,
  );
});
