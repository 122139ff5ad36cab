// Each verb asks the API as agreed, and shows the answer to people and to scripts.

import { describe, expect, it } from 'vitest';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Call, callOps, fakeToken, startFakeCloud } from './fake-operator-api.ts';

const device = '2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11';
const cloud = perFile(startFakeCloud);

const call = (words: readonly string[], given?: Call) => callOps(cloud, words, given);

const host = {
  hostname: 'cmp1',
  state: 'away',
  state_since: '2026-11-22T10:00:00+00:00',
  agent_version: '0.2.0',
  boot_id: 'b1',
  last_report_at: '2026-11-22T09:59:00+00:00',
  devices: 2,
  not_offered: 1,
  drained: null,
  paused: null,
  of_a_later_version: 7,
};
const wholeHost = {
  ...host,
  devices: [{ uuid: device, address: '0000:3b:00.0', type: 'GPU', driver: 'pci', health: 'hot' }],
  not_offered: [{ address: '0000:5e:00.0', driver: 'nvme', reason: 'mounted' }],
  conflict: null,
};
const operator = '/accelerator/operator/v1';

describe('a verb that lists', () => {
  it.each([
    [['hosts'], `${operator}/hosts?limit=1000`, { hosts: [host] }, /cmp1 +away/],
    [
      ['hosts', 'list', '--state', 'away', '--limit', '5'],
      `${operator}/hosts?state=away&limit=5`,
      { hosts: [host] },
      /cmp1/,
    ],
    [
      ['devices', 'list', '--host', 'cmp1', '--type', 'GPU'],
      '/accelerator/v2/devices?hostname=cmp1&type=GPU&limit=1000',
      { devices: [{ uuid: device, type: 'GPU', hostname: 'cmp1', status: 'enabled' }] },
      /2f7c4a3e-.* +cmp1 +GPU/,
    ],
    [
      ['who-uses', '--project', 'p1', '--instance', 'i1', '--arq', 'a1', '--device', device],
      `${operator}/assignments?device=${device}&project=p1&instance=i1&arq=a1&limit=1000`,
      { assignments: [{ arq_uuid: 'a1', hostname: 'cmp1', instance_uuid: 'i1' }] },
      /cmp1 .*i1/,
    ],
    [
      ['history', '--device', device, '--from', '2026-03-01', '--to', '2026-04-01', '--wide'],
      `${operator}/history?device=${device}&from=2026-03-01T00%3A00%3A00Z&to=2026-04-01T00%3A00%3A00Z&limit=1000`,
      {
        history: [
          { id: 'r1', at: '2026-03-02T00:00:00Z', kind: 'bind.bound', to: 'Bound', by: 'sweep' },
        ],
      },
      /^at +what +to +by\n2026-03-02T00:00:00Z +bind.bound +Bound +sweep$/,
    ],
    [
      ['history', '--kind', 'handle.cleaned', '--order=oldest-first', '--profile=gpu', '--wide'],
      `${operator}/history?profile=gpu&kind=handle.cleaned&order=oldest-first&limit=1000`,
      {
        history: [
          {
            id: 'r1',
            at: '2026-03-02T00:00:00Z',
            kind: 'handle.cleaned',
            since: '2026-03-01T00:00:00Z',
            request_id: 'req-1',
            arq_uuids: ['a1', 'a2'],
            evidence: { reset: 'flr' },
          },
        ],
      },
      /since +arqs +request +evidence\n.*2026-03-01T00:00:00Z +a1, a2 +req-1 +reset=flr$/,
    ],
    [
      ['incidents', '--kind', 'quarantine', '--host', 'cmp1'],
      `${operator}/incidents?kind=quarantine&host=cmp1&limit=1000`,
      {
        incidents: [
          {
            kind: 'quarantine',
            hostname: 'cmp1',
            device_uuid: device,
            next_step: 'Clean it.',
            action: 'force-release',
          },
          { kind: 'host-away', hostname: 'cmp1', action: 'forget' },
          { kind: 'not-offered', hostname: 'cmp1', action: 'rediscover' },
          { kind: 'drift', hostname: 'cmp1', action: 'reconcile' },
          { kind: 'conflict', hostname: 'cmp1', action: 'settle' },
          { kind: 'stuck-job', hostname: 'cmp1', action: null },
          { kind: 'of-a-later-version', hostname: 'cmp1', action: 'of-a-later-version' },
        ],
      },
      new RegExp(
        [
          `Clean it\\. +cyborg-ops devices force-release ${device}`,
          'cyborg-ops hosts forget cmp1',
          'cyborg-ops hosts rediscover cmp1',
          'cyborg-ops hosts reconcile cmp1 --repair',
          'cyborg-ops hosts settle cmp1 --boot BOOT_ID',
          'stuck-job +- +cmp1 +- +- +- +-',
          'of-a-later-version +- +cmp1 +- +- +- +-$',
        ].join('\\n.*'),
      ),
    ],
    [
      ['incidents', '--state', 'ended'],
      `${operator}/incidents?state=ended&limit=1000`,
      {
        incidents: [
          {
            kind: 'host-away',
            hostname: 'cmp1',
            since: '2026-03-01T00:00:00Z',
            ended_at: '2026-03-01T02:05:00Z',
            ended_by: 'agent',
          },
        ],
      },
      /ended +lasted +ended by\n.*2026-03-01T02:05:00Z +2 h 5 min +agent$/,
    ],
    [
      ['quota', 'list'],
      `${operator}/quotas?limit=1000`,
      { quotas: [{ project_id: 'p1', limits: { VGPU: 40, FPGA: null } }] },
      /p1 +FPGA=unlimited VGPU=40/,
    ],
  ] as const)('%j asks %s', async (words, path, body, shown) => {
    cloud.answer({ status: 200, body });
    const told = await call(words);
    expect(told).toEqual({ exitCode: 0, out: expect.stringMatching(shown), err: '' });
    expect(cloud.asked).toMatchObject([{ method: 'GET', token: fakeToken }]);
    expect(decodeURIComponent(cloud.asked[0]?.path ?? '')).toBe(decodeURIComponent(path));
    const { out } = await call([...words, '--json']);
    expect(JSON.parse(out)).toEqual(body);
  });

  it('who-uses has names on request, those that the user may see', async () => {
    const row = { hostname: 'cmp1', instance_uuid: 's1', project_id: 'p1', arq_uuid: 'a1' };
    const assignments = [row, { ...row, instance_uuid: 's2', arq_uuid: 'a2' }];
    cloud.answer(
      { status: 200, body: { assignments } },
      { status: 200, body: { servers: { s1: 'vm\u001b[31m1' }, projects: {}, users: {} } },
      { status: 200, body: { servers: {}, projects: { p1: 'demo' }, users: {} } },
    );
    const { out } = await call(['who-uses', '--names']);
    expect(out).toMatch(/^server name +project name +host/);
    expect(out).toMatch(/\n- +demo +cmp1/);
    expect(out).not.toContain('\u001b');
    expect(cloud.asked.map(({ path }) => decodeURIComponent(path)).slice(1)).toEqual([
      `${operator}/names?servers=s1,s2`,
      `${operator}/names?projects=p1`,
    ]);
  });

  const page = (name: string, marker?: string) => ({
    status: 200,
    body: {
      hosts: name === '' ? [] : [{ ...host, hostname: name }],
      // The link's own host is not asked: it would get the token.
      ...(marker && {
        hosts_links: [{ rel: 'next', href: `http://127.0.0.1:1/hosts?marker=${marker}` }],
      }),
    },
  });

  it('reads all pages into one document, empty ones in between included', async () => {
    cloud.answer(page('cmp1', 'm1'), page('', 'm2'), page('cmp2'));
    const { out } = await call(['hosts', '--json']);
    expect(JSON.parse(out).hosts.map((each: typeof host) => each.hostname)).toEqual([
      'cmp1',
      'cmp2',
    ]);
    expect(cloud.asked.map(({ path }) => path)).toEqual([
      `${operator}/hosts?limit=1000`,
      `${operator}/hosts?limit=1000&marker=m1`,
      `${operator}/hosts?limit=1000&marker=m2`,
    ]);
  });

  it('stops at --limit', async () => {
    cloud.answer(page('cmp1', 'm1'), page('cmp2', 'm2'));
    const { out } = await call(['hosts', '--json', '--limit', '2']);
    expect(JSON.parse(out).hosts).toHaveLength(2);
    expect(cloud.asked.at(-1)?.path).toBe(`${operator}/hosts?limit=1&marker=m1`);
  });

  it('ends when a page links to itself', async () => {
    cloud.answer(page('cmp1', 'm1'));
    expect(await call(['hosts'])).toMatchObject({ exitCode: 1, err: /links a page to itself/ });
  });

  it.each([['--wide'], ['-f', 'value']])(
    'lets no evidence act or look like a row: %s %s',
    async (...words) => {
      const evidence = { 'a\u001b[2J\nforged': 'b\nforged' };
      cloud.answer({
        status: 200,
        body: { history: [{ id: 'r1', at: 't', kind: 'k', evidence }] },
      });
      const { out } = await call(['history', ...words]);
      expect(out).toMatch(/a \[2J forged=b forged$/);
      expect(out).not.toContain('\nforged');
    },
  );

  it('fits the terminal', async () => {
    const incidents = [{ kind: 'drift', hostname: 'cmp1', reason: 'long '.repeat(50) }];
    cloud.answer({ status: 200, body: { incidents } });
    const { out } = await call(['incidents'], { width: 80 });
    expect(Math.max(...out.split('\n').map((line) => [...line].length))).toBeLessThanOrEqual(80);
  });
});

describe('a verb that shows one', () => {
  it('shows a host with its devices and what it does not offer', async () => {
    cloud.answer({ status: 200, body: wholeHost });
    const { out } = await call(['hosts', 'show', 'cmp1.example/..']);
    expect(cloud.asked[0]?.path).toBe(`${operator}/hosts/cmp1.example%2F..`);
    expect(out).toMatch(/state +away[\s\S]*GPU +pci[\s\S]*hot[\s\S]*nvme +mounted/);
    expect(JSON.parse((await call(['hosts', 'show', 'cmp1', '--json'])).out)).toEqual(wholeHost);
  });

  it('shows an operator how many fit where, and what stops the others', async () => {
    const stopped_by = [{ reason: 'disabled', count: 3 }];
    const body = {
      profile: 'gpu',
      fits: 4,
      hosts: [{ hostname: 'cmp1', fits: 4, stopped_by }],
      stopped_by,
    };
    cloud.answer({ status: 200, body });
    const { out } = await call(['capacity', 'gpu', '--host', 'cmp1']);
    expect(cloud.asked[0]?.path).toBe(`${operator}/capacity?profile=gpu&host=cmp1`);
    expect(out).toMatch(
      /gpu: 4 more\nstopped by: disabled \(3\)\n\nhost[\s\S]*cmp1 +4 +disabled \(3\)/,
    );
  });

  it('names what no device of the cloud has', async () => {
    const missing = ['trait:CUSTOM_GPU_NVIDIA'];
    const sum = { fits: 0, stopped_by: [{ reason: 'trait', count: 1 }] };
    const total = { ...sum, hosts: 0 };
    cloud.answer({ status: 200, body: { profile: 'gpu', ...sum, hosts: [], total, missing } });
    expect((await call(['capacity', 'gpu'])).out).toContain(
      'gpu: 0 more\nno device of the cloud has: trait:CUSTOM_GPU_NVIDIA\nstopped by: trait (1)',
    );
  });

  it('shows the capacity of a whole cloud with the time of its measurement', async () => {
    const hosts = [{ hostname: 'cmp1', fits: 4, stopped_by: [] }];
    const body = {
      profile: 'gpu',
      measured_at: '2026-11-22T00:00:00.000Z',
      fits: 4,
      hosts,
      stopped_by: [],
      total: { fits: 900, hosts: 300, stopped_by: [] },
    };
    cloud.answer({ status: 200, body });
    expect((await call(['capacity', 'gpu'])).out).toMatch(
      /^gpu: 900 more\nmeasured since 2026-11-22T00:00:00.000Z\n\nhost[\s\S]*cmp1 +4/,
    );
    cloud.answer({ status: 200, body });
    await call(['capacity', 'gpu', '--live']);
    expect(cloud.asked.at(-1)?.path).toBe(`${operator}/capacity?profile=gpu&live=true`);
  });

  it('shows the usage of the days that the answer counts, and asks for no page', async () => {
    const row = { project_id: 'p1', resource_class: 'VGPU', day: '2026-11-22' };
    const span = { from: '2026-11-22T00:00:00.000Z', to: '2026-11-23T00:00:00.000Z' };
    const body = { ...span, usage: [{ ...row, accelerator_seconds: 86_400 }] };
    cloud.answer({ status: 200, body });
    const words = ['usage', '--project', 'p1', '--resource-class', 'VGPU', '--from', '1d'];
    expect((await call(words)).out).toMatch(
      /^from 2026-11-22T00:00:00Z to 2026-11-23T00:00:00Z\n\n.*\np1 +VGPU +2026-11-22 +86400$/,
    );
    const asked = decodeURIComponent(cloud.asked[0]?.path ?? '');
    expect(asked).toBe(
      `${operator}/usage?project=p1&resource_class=VGPU&from=2026-11-22T00:00:00Z`,
    );
    expect(JSON.parse((await call([...words, '--json'])).out)).toEqual(body);
  });

  it('shows a tenant the availability alone', async () => {
    cloud.answer({ status: 200, body: { profile: 'gpu', availability: 'few' } });
    expect(await call(['capacity', 'gpu'])).toEqual({ exitCode: 0, out: 'gpu: few', err: '' });
  });
});

describe('a verb that changes something', () => {
  const drain = `POST ${operator}/hosts/cmp1/drain`;
  const resume = `POST ${operator}/hosts/cmp1/resume`;
  const patch = `PATCH /accelerator/v2/devices/${device}`;
  const status = (value: string, more: object = {}) => [
    { op: 'replace', path: '/status', value, ...more },
  ];
  const tonight = { reason: 'fan', until: '2026-11-23T04:00:00Z' };
  const limits = { VGPU: 40, FPGA: 0 };

  it.each<[words: string, request: string, body?: unknown]>([
    ['hosts rediscover cmp1', `POST ${operator}/hosts/cmp1/rediscover`],
    ['hosts drain cmp1 --reason fan --until 4h', drain, tonight],
    ['maintenance drain cmp1 --reason fan', drain, { reason: 'fan' }],
    ['hosts resume cmp1', resume],
    ['maintenance resume cmp1', resume],
    [
      `hosts settle cmp1 --boot ${device}`,
      `POST ${operator}/hosts/cmp1/settle`,
      { boot_id: device },
    ],
    ['hosts forget cmp1', `DELETE ${operator}/hosts/cmp1`],
    [`devices disable ${device} --reason fan`, patch, status('maintaining', { reason: 'fan' })],
    [`devices enable ${device}`, patch, status('enabled')],
    ['quota set p1 VGPU=40 FPGA=0', `PUT ${operator}/quotas/p1`, { limits }],
    ['quota unset p1', `DELETE ${operator}/quotas/p1`],
  ])('%s sends %s', async (line, request, body) => {
    const words = line.split(' ');
    const [method, path] = request.split(' ');
    cloud.answer({ status: 204 });
    const told = await call(words);
    expect(told).toEqual({ exitCode: 0, out: expect.stringContaining(words[2] ?? ''), err: '' });
    expect(cloud.asked).toEqual([{ method, path, token: fakeToken, body }]);
    expect(JSON.parse((await call([...words, '--json'])).out)).toEqual({});
  });

  it('hosts drain counts the devices, and those that were disabled already', async () => {
    cloud.answer({
      status: 200,
      body: { hostname: 'cmp1', devices: ['d1', 'd2'], others: ['d3'] },
    });
    const { out } = await call(['hosts', 'drain', 'cmp1', '--reason', 'fan', '--until', '4h']);
    expect(out).toBe(
      'cmp1: no new binds on 2 devices until 2026-11-23T04:00:00Z; disabled already: 1; what is bound stays.',
    );
  });

  it('quota set shows what is in use', async () => {
    const body = { project_id: 'p1', limits: { VGPU: 40 }, in_use: { VGPU: 7 }, updated_at: null };
    cloud.answer({ status: 200, body });
    expect((await call(['quota', 'set', 'p1', 'VGPU=40'])).out).toBe('p1: VGPU=40; in use: VGPU=7');
  });

  it('quota set shows the limits of the answer, whose classes are in upper case', async () => {
    const limits = { VGPU: 40, FPGA: null };
    cloud.answer({ status: 200, body: { project_id: 'p1', limits } });
    expect((await call(['quota', 'set', 'p1', 'vgpu=40'])).out).toBe('p1: VGPU=40');
  });

  it("shows a device in maintenance as disabled, and the API's word with --json", async () => {
    const row = { uuid: device, type: 'GPU', hostname: 'cmp1', status: 'maintaining' };
    cloud.answer({ status: 200, body: { devices: [row] } });
    const { out } = await call(['devices', 'list']);
    expect([out.includes('disabled'), out.includes('maintaining')]).toEqual([true, false]);
    expect((await call(['devices', 'list', '--json'])).out).toContain('maintaining');
    const host = { hostname: 'cmp1', state: 'online', devices: [row] };
    cloud.answer({ status: 200, body: { ...host, not_offered: [] } });
    expect((await call(['hosts', 'show', 'cmp1'])).out).toMatch(/GPU.* disabled /);
  });

  it('hosts shows until when a host is paused', async () => {
    const paused = { reason: 'EIO: prepare', until: '2026-11-23T00:15:00+00:00' };
    cloud.answer({ status: 200, body: { hosts: [{ ...host, paused }] } });
    const { out } = await call(['hosts', 'list']);
    expect(out).toMatch(/paused +paused until\n.*EIO: prepare +2026-11-23T00:15:00Z/);
  });

  it('force-release tells what is free and what its host cleans first', async () => {
    const body = { device_uuid: device, attach_handles: ['h1'], cleaning: ['h2', 'h3'] };
    cloud.answer({ status: 202, body });
    const { out } = await call(`devices force-release ${device} --cleaned --reason new`.split(' '));
    expect(out).toBe(`${device}: 1 handle free now, 2 handles free once the host has cleaned.`);
    expect(cloud.asked[0]?.body).toEqual({ reason: 'new', cleaned: true });
  });

  it.each(['VGPU', 'VGPU=', 'VGPU=-1', 'VGPU=1.5', 'V-GPU=1', '=1'])(
    'quota set refuses %s and asks nothing',
    async (pair) => {
      cloud.answer({ status: 200 });
      const told = await call(['quota', 'set', 'p1', '--', pair]);
      expect(told).toMatchObject({ exitCode: 2, err: /must be a resource class and an integer/ });
      expect(cloud.asked).toEqual([]);
    },
  );
});
