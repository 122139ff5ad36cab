import { expect, it } from 'vitest';
import type { HttpAnswer } from '#core/clients/http.ts';
import { createFindAggregates } from '#core/clients/openstack/aggregates.ts';

const viewer = { token: 'a-token', userId: 'user', projectId: 'project' };
const rack = { name: 'rack1', availability_zone: null, hosts: ['cmp1'] };

/** Nova answers with these, one after the other; an answer that is undefined is none. */
function findWith(...answers: readonly (Pick<HttpAnswer, 'status' | 'body'> | undefined)[]) {
  const left = [...answers];
  let nowMs = 0;
  const find = createFindAggregates({
    identity: { endpoint: async () => 'http://nova' },
    clock: () => nowMs,
    http: async () => {
      const answer = left.shift();
      if (!answer) throw new Error('Nova does not answer.');
      return { headers: {}, ...answer } as HttpAnswer;
    },
  });
  return { find: () => find(viewer), pass: (ms: number) => (nowMs += ms) };
}

it.each([undefined, { status: 503, body: {} }, { status: 200, body: { aggregates: 'none' } }])(
  'are none while Nova answers %o, and are asked for again',
  async (answer) => {
    const { find } = findWith(answer, { status: 200, body: { aggregates: [rack] } });
    expect(await find()).toEqual([]);
    expect(await find()).toEqual([rack]);
  },
);

it('are kept for five minutes, also when Nova refuses them', async () => {
  const { find, pass } = findWith(
    { status: 403, body: {} },
    { status: 200, body: { aggregates: [rack] } },
  );
  expect([await find(), await find()]).toEqual([[], []]);
  pass(300_001);
  expect(await find()).toEqual([rack]);
});
