// Credentials come from options, OS_* variables and clouds.yaml, in this order of precedence.

import { describe, expect, it } from 'vitest';
import { readCloud } from '#operate/ops/sign-in/cloud-files.ts';
import { readCredentials } from '#operate/ops/sign-in/credentials.ts';

type Variables = Readonly<Record<string, string>>;
type Files = Readonly<Record<string, string>>;

const home = { HOME: '/home/op' };
const homeFile = '/home/op/.config/openstack/clouds.yaml';
const open = `
clouds:
  prod:
    region_name: RegionOne
    interface: internalURL
    cacert: /etc/ssl/cloud.pem
    auth:
      auth_url: https://keystone.example/v3
      username: op
      project_name: admin
      user_domain_name: Users
      password: 12345
`;

function cloudOf(files: Files, environment: Variables = home, name?: string) {
  return readCloud(name, environment, (path) => files[path]);
}

function credentials(environment: Variables, options: Variables = {}, files: Files = {}) {
  const cloud = cloudOf(files, { ...home, ...environment }, options.cloud ?? environment.OS_CLOUD);
  return readCredentials({ options, environment, cloud });
}

const variables = {
  OS_AUTH_URL: 'https://keystone.example/v3',
  OS_USERNAME: 'op',
  OS_PASSWORD: 's3cret',
  OS_PROJECT_NAME: 'admin',
};

describe('variables', () => {
  it('give a password, with the domain default', () => {
    expect(credentials(variables)).toEqual({
      authUrl: 'https://keystone.example/v3',
      identity: {
        methods: ['password'],
        password: { user: { name: 'op', domain: { id: 'default' }, password: 's3cret' } },
      },
      scope: { project: { name: 'admin', domain: { id: 'default' } } },
      endpoint: undefined,
      region: undefined,
      interface: 'public',
      caFile: undefined,
      isInsecure: false,
    });
  });

  it.each([
    [{ OS_USER_DOMAIN_NAME: 'U' }, { name: 'op', domain: { name: 'U' } }],
    [{ OS_USER_DOMAIN_ID: 'u1' }, { name: 'op', domain: { id: 'u1' } }],
    [{ OS_USER_ID: 'id1' }, { id: 'id1' }],
  ])('%j name the user', (more, user) => {
    const { identity } = credentials({ ...variables, ...more });
    expect(identity.password).toEqual({ user: { ...user, password: 's3cret' } });
  });

  it.each([
    [{ OS_PROJECT_ID: 'p1' }, { project: { id: 'p1' } }],
    [{ OS_PROJECT_DOMAIN_NAME: 'P' }, { project: { name: 'admin', domain: { name: 'P' } } }],
    [{ OS_PROJECT_NAME: '', OS_SYSTEM_SCOPE: 'all' }, { system: { all: true } }],
    [{ OS_PROJECT_NAME: '', OS_DOMAIN_NAME: 'D' }, { domain: { name: 'D' } }],
    [{ OS_PROJECT_NAME: '' }, undefined],
  ])('%j name the scope', (more, scope) => {
    expect(credentials({ ...variables, ...more }).scope).toEqual(scope);
  });

  it('give a token', () => {
    const given = { OS_AUTH_URL: variables.OS_AUTH_URL, OS_TOKEN: 't', OS_PROJECT_ID: 'p1' };
    const token = { methods: ['token'], token: { id: 't' } };
    expect(credentials(given).identity).toEqual(token);
    const named = { ...variables, ...given, OS_AUTH_TYPE: 'v3token' };
    expect(credentials(named).identity).toEqual(token);
  });

  it('give an application credential, which has its own scope', () => {
    const base = {
      OS_AUTH_URL: variables.OS_AUTH_URL,
      OS_APPLICATION_CREDENTIAL_SECRET: 's3cret',
      OS_PROJECT_NAME: 'admin',
    };
    const byId = credentials({ ...base, OS_APPLICATION_CREDENTIAL_ID: 'a1' });
    expect(byId).toMatchObject({
      identity: { application_credential: { id: 'a1', secret: 's3cret' } },
      scope: undefined,
    });
    const byName = credentials({
      ...base,
      OS_APPLICATION_CREDENTIAL_NAME: 'ops',
      OS_USERNAME: 'op',
    });
    expect(byName.identity.application_credential).toEqual({
      name: 'ops',
      user: { name: 'op', domain: { id: 'default' } },
      secret: 's3cret',
    });
  });

  it('name endpoint, region, interface and authorities', () => {
    const more = {
      OS_ACCELERATOR_ENDPOINT_OVERRIDE: 'https://api.example/accelerator',
      OS_REGION_NAME: 'Two',
      OS_INTERFACE: 'internal',
      OS_CACERT: '/ca.pem',
      OS_INSECURE: 'true',
    };
    expect(credentials({ ...variables, ...more })).toMatchObject({
      endpoint: 'https://api.example/accelerator',
      region: 'Two',
      interface: 'internal',
      caFile: '/ca.pem',
      isInsecure: true,
    });
  });

  it.each([
    [{}, 'There are no credentials: set OS_CLOUD, or OS_AUTH_URL'],
    [{ ...variables, OS_PASSWORD: '' }, 'OS_PASSWORD is missing'],
    [{ ...variables, OS_USERNAME: '' }, 'OS_USERNAME is missing'],
    [
      { ...variables, OS_AUTH_TYPE: 'v3kerberos' },
      'OS_AUTH_TYPE v3kerberos must be one of password',
    ],
    [{ ...variables, OS_INTERFACE: 'outside' }, 'OS_INTERFACE outside must be one of public'],
    [{ ...variables, OS_AUTH_URL: 'keystone' }, 'OS_AUTH_URL must be a URL'],
    [
      { OS_AUTH_URL: 'https://k', OS_APPLICATION_CREDENTIAL_ID: 'a' },
      'OS_APPLICATION_CREDENTIAL_SECRET is missing',
    ],
  ])('%j are refused: %s', (given, sentence) => {
    expect(() => credentials(given as Variables)).toThrow(sentence);
  });
});

describe('precedence', () => {
  const files = { [homeFile]: open };

  it('an option comes before its variable, and that before clouds.yaml', () => {
    const inFile = credentials({ OS_CLOUD: 'prod' }, {}, files);
    expect(inFile).toMatchObject({ region: 'RegionOne', interface: 'internal' });
    const environment = { OS_CLOUD: 'prod', OS_REGION_NAME: 'Two' };
    expect(credentials(environment, {}, files).region).toBe('Two');
    expect(credentials(environment, { region_name: 'Three' }, files).region).toBe('Three');
    expect(credentials({ OS_CLOUD: 'none' }, { cloud: 'prod' }, files).region).toBe('RegionOne');
  });

  it('a project by id in the environment replaces one by name in clouds.yaml', () => {
    const { scope } = credentials({ OS_CLOUD: 'prod', OS_PROJECT_ID: 'p1' }, {}, files);
    expect(scope).toEqual({ project: { id: 'p1' } });
  });

  it('a token in the environment replaces the password in clouds.yaml', () => {
    const { identity } = credentials({ OS_CLOUD: 'prod', OS_TOKEN: 't' }, {}, files);
    expect(identity.methods).toEqual(['token']);
  });
});

describe('clouds.yaml', () => {
  it('is read from the named file, here, the home directory, /etc, in this order', () => {
    const paths = ['/named.yaml', 'clouds.yaml', homeFile, '/etc/openstack/clouds.yaml'];
    const environment = { ...home, OS_CLIENT_CONFIG_FILE: '/named.yaml' };
    for (const [at, path] of paths.entries()) {
      const files = Object.fromEntries(
        paths.slice(at).map((each) => [each, `clouds: {only: {region_name: "${each}"}}`]),
      );
      expect(cloudOf(files, environment)?.region_name).toBe(path);
    }
  });

  it('has its secrets in secure.yaml, which may be in another directory', () => {
    const secure = 'clouds: {prod: {auth: {password: s3cret}}}';
    const files = { [homeFile]: open, '/etc/openstack/secure.yaml': secure };
    expect(cloudOf(files)?.auth).toMatchObject({ username: 'op', password: 's3cret' });
  });

  it('may have a password of digits, which YAML reads as a number', () => {
    const { identity } = credentials({ OS_CLOUD: 'prod' }, {}, { [homeFile]: open });
    expect(identity.password).toMatchObject({ user: { password: '12345' } });
  });

  it('may be JSON, and may turn verification off', () => {
    const text = '{"clouds":{"prod":{"verify":false,"auth":{"auth_url":"https://k","token":"t"}}}}';
    const files = { '/etc/openstack/clouds.json': text };
    expect(credentials({ OS_CLOUD: 'prod' }, {}, files).isInsecure).toBe(true);
  });

  it('needs no name of a cloud if it has only one', () => {
    expect(cloudOf({ [homeFile]: open })?.region_name).toBe('RegionOne');
  });

  it('does not count where OS_AUTH_URL is set and no cloud is named', () => {
    expect(cloudOf({ [homeFile]: open }, { ...home, ...variables })).toBeUndefined();
  });

  it.each([
    [
      'clouds: {a: {}, b: {}}',
      undefined,
      'has several clouds: set OS_CLOUD or --os-cloud to a, b.',
    ],
    ['clouds: {a: {}}', 'prod', 'has no cloud prod: it has a.'],
    ['{}', 'prod', 'has no cloud prod: it has no cloud.'],
    ['clouds: [a]', 'prod', 'must have clouds by name; see clouds.'],
    ['clouds: {a: {auth: x}}', 'a', 'must have clouds by name; see clouds.a.'],
    ['clouds:\n  a:\n    password: "s3cret\n', 'a', 'is not valid YAML at line '],
  ])('%j is refused for the cloud %s, without what it holds', (text, name, sentence) => {
    const reading = () => cloudOf({ [homeFile]: text }, home, name);
    expect(reading).toThrow(`${homeFile} ${sentence}`);
    expect(reading).not.toThrow(/s3cret/);
  });

  it('is looked for in places that the error names', () => {
    expect(() => cloudOf({}, home, 'prod')).toThrow(
      `looked for clouds.yaml, clouds.yml, clouds.json, ${homeFile}`,
    );
  });
});
