// A flood of unknown tokens while Keystone does not answer, on as many containers as Lambda would
// start. A container serves one request at a time; Lambda takes a free one, or starts another.

import { expect, it } from 'vitest';
import { type Http, ServiceUnavailable } from '#core/clients/http.ts';
import { createKeystone, type Keystone } from '#core/clients/openstack/keystone/keystone.ts';
import { silentLog } from '#core/log.ts';
import { serviceCredentials } from '#local/openstack/keystone/keystone.ts';

const perSecond = 125;
const limitByDefault = 8_000;

interface Container {
  readonly keystone: Keystone;
  /** The container's own clock, which a call advances. */
  now: number;
}

interface Flood {
  readonly answerMs: number;
  readonly seconds: number;
}

async function flood({ answerMs, seconds }: Flood) {
  const containers: Container[] = [];
  const held: number[] = [];
  const callsAt: number[] = [];
  for (let count = 0; count < perSecond * seconds; count += 1) {
    const at = (count * 1_000) / perSecond;
    const container = idleLongest(containers, at) ?? start(containers, answerMs, callsAt);
    container.now = at;
    const asked = container.keystone.validateToken(`bogus-${count}`, { allowExpired: false });
    await asked.catch((error: unknown) => expect(error).toBeInstanceOf(ServiceUnavailable));
    held.push(containers.filter((each) => each.now > at).length);
  }
  return { held, callsAt };
}

/** The worst case: every container keeps getting requests, and so keeps probing. */
function idleLongest(containers: readonly Container[], at: number): Container | undefined {
  const [first, ...others] = containers.filter((each) => each.now <= at);
  return others.reduce((longest, each) => (each.now < (longest?.now ?? 0) ? each : longest), first);
}

function start(containers: Container[], answerMs: number, callsAt: number[]): Container {
  const http: Http = async (request) => {
    if (request.method === 'POST') throw new TypeError('The token is shared.');
    callsAt.push(container.now);
    const limitMs = request.timeoutMs ?? limitByDefault;
    container.now += Math.min(answerMs, limitMs);
    if (answerMs > limitMs) throw new ServiceUnavailable('identity', request.url, 'late', true);
    return { status: 404, headers: new Headers(), body: { error: {} } };
  };
  const expiresAt = Date.UTC(2100, 0, 1);
  let draws = containers.length;
  const container: Container = {
    now: 0,
    keystone: createKeystone({
      settings: serviceCredentials('cyborg', 'http://keystone.test/v3'),
      http,
      clock: () => container.now,
      log: silentLog,
      random: () => {
        draws += 1;
        return (draws * 0.618_034) % 1;
      },
      ownTokenStore: {
        read: async () => ({ token: 'ours', expiresAt, endpoints: [] }),
        write: async () => {},
      },
    }),
  };
  containers.push(container);
  return container;
}

it('holds at most 500 executions at first, and 250 later', async () => {
  const { held, callsAt } = await flood({ answerMs: 60_000, seconds: 120 });
  // Without limit and breaker 1,000 executions are held during the whole flood.
  expect(Math.max(...held)).toBeLessThanOrEqual(500);
  expect(Math.max(...held.slice(60 * perSecond))).toBeLessThanOrEqual(250);
  // There were 15,000 requests.
  expect(callsAt.length).toBeLessThan(5_000);
});

it('does not refuse callers while Keystone answers', async () => {
  const { held, callsAt } = await flood({ answerMs: 100, seconds: 20 });
  expect(callsAt).toHaveLength(20 * perSecond);
  expect(Math.max(...held)).toBeLessThanOrEqual(15);
});
