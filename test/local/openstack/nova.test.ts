import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perTest } from '#test/support/vitest/shared.ts';
import { aCloud, anEvent, eventCodes } from './nova-cloud.ts';

const cloud = perTest(aCloud);
const serversBody = z.object({ servers: z.array(z.object({ id: z.string() })) });

it('boots a plain server without a request to the accelerator API', async () => {
  expect(await cloud.settled(await cloud.boot('plain'))).toMatchObject({ status: 'ACTIVE' });
  expect(cloud.accelerators.calls).toEqual([]);
});

describe('external events', () => {
  it('get the codes of Nova, and are recorded', async () => {
    await cloud.restartNova({ handOverMs: 60_000 });
    const early = await cloud.boot('accelerated');
    const unknown = crypto.randomUUID();
    const events = [
      anEvent(early, 'a'),
      anEvent(unknown, 'b'),
      { ...anEvent(early), tag: undefined },
    ];
    const response = await cloud.call('POST', '/os-server-external-events', {
      token: 'cyborg-token',
      body: { events },
    });
    expect(response.status).toBe(207);
    expect(eventCodes.parse(await response.json()).events.map(({ code }) => code)).toEqual([
      422, 404, 400,
    ]);
    expect(cloud.nova.events().map(({ code }) => code)).toEqual([422, 404, 400]);
  });

  it.each([
    { what: 'an unknown name', event: { name: 'accelerator-requests-bound' } },
    { what: 'an unknown key', event: { reason: 'x' } },
    { what: 'an invalid server uuid', event: { server_uuid: 'x' } },
    { what: 'an old microversion', event: {}, version: '2.81' },
  ])('with $what are refused as a whole', async ({ event, version }) => {
    const response = await cloud.call('POST', '/os-server-external-events', {
      token: 'cyborg-token',
      body: { events: [{ ...anEvent(crypto.randomUUID(), 'a'), ...event }] },
      ...(version && { version }),
    });
    expect(response.status).toBe(400);
  });

  it('are accepted from services and admins only', async () => {
    const body = { events: [anEvent(crypto.randomUUID(), 'a')] };
    const posted = (token: string) =>
      cloud.call('POST', '/os-server-external-events', { token, body });
    expect((await posted('demo-token')).status).toBe(403);
    expect((await posted('telemetry-token')).status).toBe(207);
  });
});

describe('a server', () => {
  it('is visible to its project and to admins, and not found for others', async () => {
    const id = await cloud.boot('plain');
    await cloud.settled(id);
    const seen = async (token: string) =>
      (await cloud.call('GET', `/servers/${id}`, { token })).status;
    expect(await seen('reader-token')).toBe(200);
    expect(await seen('cyborg-token')).toBe(200);
    expect(await seen('alt-token')).toBe(404);
    expect(await seen('telemetry-token')).toBe(404);
  });

  it('is listed after its delete to admins that ask for deleted ones, and not to members', async () => {
    const [id, kept] = [await cloud.boot('plain'), await cloud.boot('plain')];
    for (const each of [id, kept]) await cloud.settled(each);
    await cloud.call('DELETE', `/servers/${id}`);
    const listed = async (query: string, token?: string) => {
      const answer = await cloud.call('GET', `/servers${query}`, token ? { token } : {});
      if (answer.status !== 200) return answer.status;
      const { servers } = serversBody.parse(await answer.json());
      return servers.map((each) => each.id);
    };
    const deleted = `?deleted=true&uuid=${id}`;
    await eventually(() => listed(deleted, 'cyborg-token')).toEqual([id]);
    expect(await listed(`?deleted=true&uuid=${kept}`, 'cyborg-token')).toEqual([]);
    expect(await listed('', 'cyborg-token')).toEqual([kept]);
    expect(await listed(deleted, 'demo-token')).toEqual([kept]);
    expect(await listed(`${deleted}&all_tenants=1`, 'demo-token')).toBe(403);
  });

  it('is created by members, not by readers', async () => {
    expect((await cloud.create('plain', 'reader-token')).status).toBe(403);
  });

  it('that was building when Nova was killed is in ERROR afterwards', async () => {
    cloud.accelerators.bindsTo = 'BindStarted';
    const id = await cloud.boot('accelerated');
    await cloud.waitedFor();
    await cloud.restartNova();
    expect(await cloud.show(id)).toMatchObject({ status: 'ERROR', 'OS-EXT-STS:task_state': null });
  });
});

it('adds a host once, however often its nova-compute starts', async () => {
  const again = await cloud.call('POST', '/hosts', {
    token: 'admin-token',
    body: { name: 'cmp1' },
  });
  const host = await cloud.placement.findProviderByName('cmp1');
  expect(await again.json()).toEqual({ host: { name: 'cmp1', provider_uuid: host?.uuid } });
});

describe('version discovery', () => {
  it('needs no token, and returns the root of the API and its microversions', async () => {
    const url = cloud.nova.url.replace('/v2.1', '');
    const list = await fetch(`${url}/`);
    expect([list.status, await list.json()]).toMatchObject([
      200,
      { versions: [{ id: 'v2.1', version: '2.93', links: [{ href: `${url}/v2.1/` }] }] },
    ]);
    const own = await fetch(`${url}/v2.1/`);
    expect([own.status, await own.json()]).toMatchObject([
      200,
      { version: { id: 'v2.1', min_version: '2.1' } },
    ]);
    expect((await fetch(`${url}/v2.1/servers`)).status).toBe(401);
  });
});
