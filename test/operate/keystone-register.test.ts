// `cyborg-ops keystone register` against a Keystone over HTTP: what is made, what is left alone,
// and what is refused.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { password as demoPassword } from '#local/openstack/keystone/catalog.ts';
import { startKeystone } from '#local/openstack/keystone/keystone.ts';
import { createFetch } from '#operate/any-port-fetch.ts';
import { run } from '#operate/ops/run.ts';
import { readFileIfPresent } from '#operate/ops/sign-in/cloud-files.ts';
import { directoryPerTest, perTest } from '#test/support/vitest/shared.ts';

const api = 'https://accelerator.example.org/accelerator/v2';
const secret = 'of-the-service-user';
const cloud = perTest(() =>
  startKeystone({ host: '127.0.0.1', port: 0, stateFile: join(folder, 'state') }),
);
const folder = directoryPerTest();

interface Given {
  readonly user?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

async function register(words: readonly string[] = [], given: Given = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const { user = 'admin' } = given;
  const url = words.includes('--url') ? [] : ['--url', api];
  const exitCode = await run(['keystone', 'register', ...url, ...words], {
    environment: {
      OS_AUTH_URL: cloud.url,
      OS_USERNAME: user,
      OS_PASSWORD: demoPassword,
      OS_PROJECT_NAME: user,
      OS_REGION_NAME: 'RegionOne',
      CYBORG_PASSWORD: secret,
      ...given.environment,
    },
    readFile: readFileIfPresent,
    createFetch,
    clock: Date.now,
    sleep: async () => {},
    width: Number.POSITIVE_INFINITY,
    out: (text) => out.push(text),
    show: (line) => out.push(line),
    err: (text) => err.push(text),
  });
  const told = { exitCode, out: out.join('\n'), err: err.join('\n') };
  expect(JSON.stringify(told)).not.toContain(secret);
  return told;
}

/** A new user in a new project: nothing of it is in the demo cloud. */
const ours = ['--user', 'accel', '--user-project', 'infra'];

async function ask(method: string, path: string, body?: unknown, token = 'admin-token') {
  const response = await fetch(`${cloud.url}${path}`, {
    method,
    headers: { 'X-Auth-Token': token, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text ? JSON.parse(text) : {} };
}

async function logIn(name: string, password: string, project: string) {
  const user = { name, domain: { name: 'Default' }, password };
  const identity = { methods: ['password'], password: { user } };
  return ask('POST', '/auth/tokens', { auth: { identity, scope: { project: { name: project } } } });
}

const services = async () => (await ask('GET', '/services?type=accelerator')).body.services;
const endpoints = async () => {
  const [service] = await services();
  return (await ask('GET', `/endpoints?service_id=${service.id}`)).body.endpoints;
};

describe('an empty Keystone', () => {
  it('shows by --dry-run what would be made, and has nothing more', async () => {
    const told = await register([...ours, '--dry-run'], { environment: { CYBORG_PASSWORD: '' } });
    expect(told).toMatchObject({ exitCode: 0, err: '' });
    expect(told.out.split('\n')).toEqual([
      expect.stringMatching(/^what +name +state +url$/),
      expect.stringMatching(/^project +infra +would be made +-$/),
      expect.stringMatching(/^role +admin +present +-$/),
      expect.stringMatching(/^role +service +present +-$/),
      expect.stringMatching(/^user +accel +would be made +-$/),
      expect.stringMatching(/^role of the user +admin +would be made +-$/),
      expect.stringMatching(/^role of the user +service +would be made +-$/),
      expect.stringMatching(/^service +accelerator +would be made +-$/),
      ...['public', 'internal', 'admin'].map((face) =>
        expect.stringMatching(
          new RegExp(`^endpoint +${face} in RegionOne +would be made +${api}$`),
        ),
      ),
      '',
      '8 would be made.',
      'Nothing was changed; run it without --dry-run.',
    ]);
    expect(await services()).toEqual([]);
    expect((await ask('GET', '/users?name=accel')).body.users).toEqual([]);
    expect((await ask('GET', '/projects?name=infra')).body.projects).toEqual([]);
  });

  it('has a service user that signs in, and the API in the catalog of its token', async () => {
    const internal = 'https://inside.example.org/accelerator/v2';
    const told = await register([...ours, '--internal-url', internal]);
    expect(told).toMatchObject({ exitCode: 0, err: '', out: expect.stringMatching(/8 made/) });
    const login = await logIn('accel', secret, 'infra');
    expect(login.status).toBe(201);
    const { roles, catalog } = login.body.token;
    const names = roles.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(['admin', 'service']));
    const [entry] = catalog.filter(({ type }: { type: string }) => type === 'accelerator');
    expect(entry.endpoints).toMatchObject([
      { interface: 'public', url: api, region: 'RegionOne' },
      { interface: 'internal', url: internal },
      { interface: 'admin', url: api },
    ]);
  });

  it('is changed by the first run only', async () => {
    await register(ours);
    const before = [await services(), await endpoints()];
    const again = await register([...ours, '--json'], { environment: { CYBORG_PASSWORD: '' } });
    expect(again.exitCode).toBe(0);
    const outcomes = JSON.parse(again.out).registration.map(
      ({ outcome }: { outcome: string }) => outcome,
    );
    expect(outcomes).toEqual(Array(10).fill('present'));
    expect((await register(ours)).out).toMatch(
      /\nNothing to change: the deployment is registered\.$/,
    );
    expect([await services(), await endpoints()]).toEqual(before);
    expect((await logIn('accel', secret, 'infra')).status).toBe(201);
  });

  it('has the rest after a run that ended half-way', async () => {
    const service = { type: 'accelerator', name: 'cyborg' };
    await ask('POST', '/services', { service });
    await ask('POST', '/users', {
      user: { name: 'accel', domain_id: 'default', password: secret },
    });
    const told = await register(ours, { environment: { CYBORG_PASSWORD: '' } });
    expect(told).toMatchObject({ exitCode: 0, out: expect.stringMatching(/6 made/) });
    expect(await services()).toHaveLength(1);
    expect((await logIn('accel', secret, 'infra')).status).toBe(201);
  });

  it('takes the password of the file before the variable', async () => {
    const file = join(folder, 'password');
    writeFileSync(file, 'from-the-file\n');
    expect(await register([...ours, '--password-file', file])).toMatchObject({ exitCode: 0 });
    expect((await logIn('accel', 'from-the-file', 'infra')).status).toBe(201);
  });
});

describe('an endpoint with another URL', () => {
  const moved = 'https://new.example.org/accelerator/v2';

  it('is reported and stays, and the rest is made', async () => {
    await register();
    const differing = await register([...ours, '--admin-url', moved]);
    expect(differing).toMatchObject({ exitCode: 1, err: '' });
    expect(differing.out).toContain(
      `The endpoint admin in RegionOne is ${api}: --update moves it.`,
    );
    expect(differing.out).toMatch(/4 made/);
    expect((await endpoints()).map(({ url }: { url: string }) => url)).toEqual([api, api, api]);
  });

  it('is moved with --update', async () => {
    await register();
    const words = ['--admin-url', moved, '--update'];
    const dry = await register([...words, '--dry-run']);
    expect(dry).toMatchObject({ exitCode: 0, out: expect.stringMatching(/1 would be updated/) });
    expect((await endpoints())[2].url).toBe(api);
    expect(await register(words)).toMatchObject({
      exitCode: 0,
      out: expect.stringMatching(
        /admin in RegionOne +updated +\S+new\.\S+ +\S+accelerator\.ex\S+\n/,
      ),
    });
    expect((await endpoints()).map(({ url }: { url: string }) => url)).toEqual([api, api, moved]);
    expect(await register(words)).toMatchObject({
      exitCode: 0,
      out: expect.stringMatching(/Nothing/),
    });
  });

  it('is no other one for a slash at the end', async () => {
    await register(['--admin-url', `${api}/`]);
    expect(await register()).toMatchObject({ exitCode: 0, out: expect.stringMatching(/Nothing/) });
  });

  it('that is disabled is reported', async () => {
    await register();
    const [{ id }] = await endpoints();
    await ask('PATCH', `/endpoints/${id}`, { endpoint: { enabled: false } });
    expect(await register()).toMatchObject({
      exitCode: 1,
      out: expect.stringMatching(/The endpoint public in RegionOne is disabled: .* --enable/),
    });
  });
});

describe('nothing is made, and the sentence says what is allowed,', () => {
  afterEach(async () => {
    expect((await ask('GET', '/users?name=accel')).body.users).toEqual([]);
  });

  it('for a user without the role admin', async () => {
    expect(await register(ours, { user: 'demo' })).toEqual({
      exitCode: 3,
      out: '',
      err: expect.stringMatching(
        /does not allow this user to list \w+ \(403\): sign in with the role/,
      ),
    });
  });

  it.each([
    ['http://api.test', 'http://api.test/accelerator/v2'],
    ['http://api.test/accelerator', 'http://api.test/accelerator/v2'],
    ['http://api.test/accelerator/', 'http://api.test/accelerator/v2'],
    ['http://api.test/accelerator/v2.3', 'http://api.test/accelerator/v2'],
    ['http://api.test/cloud/accelerator', 'http://api.test/cloud/accelerator/v2'],
  ])('for the endpoint %s, to which Nova cannot append its paths', async (wrong, allowed) => {
    for (const option of ['--url', '--internal-url', '--admin-url']) {
      const words = option === '--url' ? [] : ['--url', api];
      const { exitCode, err } = await register([...ours, ...words, option, wrong]);
      expect([exitCode, err]).toEqual([
        2,
        `${option} ${wrong} must end in /v2, because Nova appends its paths to it: give ${allowed}.`,
      ]);
    }
  });

  it('for two services of the type', async () => {
    for (const name of ['cyborg', 'other']) {
      await ask('POST', '/services', { service: { type: 'accelerator', name } });
    }
    const ids = (await services()).map(({ id }: { id: string }) => id).join(', ');
    expect(await register(ours)).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining(
        `2 services of type accelerator, and at most one is allowed: ${ids}. Nothing was changed`,
      ),
    });
  });

  it('for two public endpoints in the region', async () => {
    const { body } = await ask('POST', '/services', { service: { type: 'accelerator' } });
    const endpoint = { service_id: body.service.id, interface: 'public', region_id: 'RegionOne' };
    for (const url of [api, `${api}2`]) {
      await ask('POST', '/endpoints', { endpoint: { ...endpoint, url } });
    }
    const err = expect.stringMatching(
      /2 public endpoints in RegionOne, .* `openstack endpoint delete/,
    );
    expect(await register(ours)).toMatchObject({ exitCode: 1, err });
  });

  it.each([
    [{ OS_REGION_NAME: 'Two' }, [], /no region Two: Keystone has RegionOne/],
    [{}, ['--user-domain', 'Users'], /no domain Users: it must be one of Default/],
    [
      { CYBORG_PASSWORD: '' },
      [],
      /password .* is missing: set CYBORG_PASSWORD, or .*--password-file/,
    ],
    [{}, ['--password-file', '/nowhere/at/all'], /--password-file names .*does not exist/],
    [{}, ['--internal-url', 'inside.example.org'], /--internal-url .* must be a URL such as https/],
    [{}, ['--endpoint', api], /Unknown option --endpoint of keystone register/],
  ] as const)('with %j and %j', async (environment, words, err) => {
    const told = await register([...ours, ...words], { environment });
    expect(told).toMatchObject({ exitCode: 2, out: '', err: expect.stringMatching(err) });
  });
});

it('exits with 4 while Keystone is away', async () => {
  const environment = { OS_AUTH_URL: 'http://127.0.0.1:1/v3' };
  expect(await register([], { environment })).toMatchObject({
    exitCode: 4,
    err: expect.stringMatching(/identity at .* is unavailable: ECONNREFUSED/),
  });
});
