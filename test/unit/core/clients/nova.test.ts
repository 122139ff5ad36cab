import { beforeEach, describe, expect, it } from 'vitest';
import { createHttp, RequestRefused, ServiceUnavailable } from '#core/clients/http.ts';
import { createNova, type ExternalEvent, type Nova } from '#core/clients/openstack/nova.ts';
import type { ServiceIdentity } from '#core/clients/openstack/service-calls.ts';
import type { Answer, Ask } from '#local/openstack/http-service.ts';
import { perTest } from '#test/support/vitest/shared.ts';
import { aService } from './service-double.ts';

let answer: (ask: Ask) => Answer;
const service = perTest(() => aService((ask) => answer(ask)));
let nova: Nova;
let tokens: string[];
let away: string[];

beforeEach(() => {
  tokens = ['first', 'second', 'third'];
  away = [];
  const identity: ServiceIdentity = {
    ownToken: async () => tokens[0] ?? 'none left',
    noteAway: (type) => void away.push(type),
    dropOwnToken: (refused) => {
      tokens = tokens.filter((token) => token !== refused);
    },
    endpoint: async () => `${service.url}/v2.1`,
  };
  nova = createNova({ identity, http: createHttp() });
});

const instance = '77aa0000-0000-4000-8000-000000000001';

const anEvent = (tag: string): ExternalEvent => ({
  name: 'accelerator-request-bound',
  tag,
  server_uuid: instance,
  status: 'completed',
});

describe('external events', () => {
  it('are sent in one call, at the microversion that has them', async () => {
    answer = () => ({ status: 200, body: { events: [{ ...anEvent('a'), code: 200 }] } });
    expect(await nova.postExternalEvents([anEvent('a')])).toEqual([{ tag: 'a', code: 200 }]);
    const [asked] = service.asked;
    expect(asked).toMatchObject({
      method: 'POST',
      path: '/v2.1/os-server-external-events',
      body: { events: [anEvent('a')] },
    });
    expect(asked?.headers).toMatchObject({
      'openstack-api-version': 'compute 2.82',
      'x-auth-token': 'first',
    });
  });

  it('have an outcome each', async () => {
    const events = [
      { ...anEvent('early'), status: 'failed', code: 422 },
      { ...anEvent('gone'), status: 'failed', code: 404 },
      { ...anEvent('known'), code: 200 },
    ];
    answer = () => ({ status: 207, body: { events } });
    expect(await nova.postExternalEvents(['early', 'gone', 'known'].map(anEvent))).toEqual([
      { tag: 'early', code: 422 },
      { tag: 'gone', code: 404 },
      { tag: 'known', code: 200 },
    ]);
  });

  it.each([
    { status: 400, error: RequestRefused, says: 'too old' },
    { status: 403, error: RequestRefused, says: 'too old' },
    { status: 503, error: ServiceUnavailable, says: 'too old' },
  ])('that Nova answers with $status are an error', async ({ status, error, says }) => {
    answer = () => ({ status, body: { badRequest: { code: status, message: 'too old' } } });
    const posted = nova.postExternalEvents([anEvent('a')]);
    await expect(posted).rejects.toThrow(error);
    await expect(posted).rejects.toThrow(says);
    expect(service.asked).toHaveLength(1);
    expect(away).toEqual(status === 503 ? ['compute'] : []);
  });

  it('are not sent twice after an unreadable answer', async () => {
    answer = () => ({ status: 200, body: '<html>' });
    await expect(nova.postExternalEvents([anEvent('a')])).rejects.toThrow(ServiceUnavailable);
    expect(service.asked).toHaveLength(1);
  });

  it('are sent again with a new token, twice at most', async () => {
    answer = () => ({ status: 401, body: { error: { code: 401, message: 'who?' } } });
    await expect(nova.postExternalEvents([anEvent('a')])).rejects.toThrow('401');
    const sent = service.asked.map(({ headers }) => headers['x-auth-token']);
    expect(sent).toEqual(['first', 'second', 'third']);
  });
});

describe('a server', () => {
  it('has a project', async () => {
    answer = () => ({ status: 200, body: { server: { id: instance, tenant_id: 'demo' } } });
    expect(await nova.server(instance)).toEqual({ projectId: 'demo' });
    expect(service.asked[0]?.path).toBe(`/v2.1/servers/${instance}`);
  });

  it('is not found when Nova answers so', async () => {
    answer = () => ({ status: 404, body: { itemNotFound: { code: 404, message: 'no' } } });
    expect(await nova.server(instance)).toBe('not-found');
  });

  it.each(['<html>', { message: 'no Route matched' }])(
    'is not reported as gone by %j',
    async (body) => {
      answer = () => ({ status: 404, body });
      await expect(nova.server(instance)).rejects.toThrow(RequestRefused);
    },
  );
});
