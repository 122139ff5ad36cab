// A flood of unknown tokens while Keystone does not answer, against the deployed handlers.

import { afterAll, expect, it } from 'vitest';
import { startKeystone } from '#local/openstack/keystone/keystone.ts';
import { startFaultProxy } from '#test/support/aws/proxies/fault-proxy.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Answer, startWorld } from '#test/support/world.ts';

const path = '/v2/device_profiles';
const senders = 8;
const perSender = 20;

let validations = 0;
/** While this is set, Keystone accepts requests and answers none. */
let silence: PromiseWithResolvers<void> | undefined;

const keystone = perFile(() => startKeystone({ host: '127.0.0.1', port: 0 }));
const wire = perFile(() =>
  startFaultProxy('Keystone', keystone.url.replace(/\/v3$/, ''), async ({ name, phase }) => {
    if (phase === 'after') return;
    if (name === 'Keystone GET') validations += 1;
    await silence?.promise;
  }),
);
const world = perFile(() => startWorld({ settings: { KEYSTONE_URL: `${wire.url}/v3` } }));
// The servers stop after it.
afterAll(() => silence?.resolve());

it('costs Keystone few calls, and a caller with a validated token is served meanwhile', async () => {
  expect((await world.ask('GET', path, { token: 'demo-token' })).status).toBe(200);
  silence = Promise.withResolvers<void>();
  validations = 0;
  let isOver = false;
  const callsMax = 2 * senders;

  const flood = async (sender: number) => {
    const answers: Answer[] = [];
    // A flood above the limit ends early, so that the test fails and reports the excess.
    for (let count = 0; count < perSender && validations <= callsMax; count += 1) {
      answers.push(await world.ask('GET', path, { token: `bogus-${sender}-${count}` }));
    }
    return answers;
  };
  const caller = async () => {
    const answers: Answer[] = [];
    while (!isOver) answers.push(await world.ask('GET', path, { token: 'demo-token' }));
    return answers;
  };
  const served = caller();
  const refused = (await Promise.all(Array.from({ length: senders }, (_, at) => flood(at)))).flat();
  isOver = true;

  expect(validations).toBeLessThanOrEqual(callsMax);
  expect(refused).toHaveLength(senders * perSender);
  for (const { status, headers } of refused) {
    expect(status).toBe(503);
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  }
  const good = await served;
  expect(good.length).toBeGreaterThan(1);
  for (const { status } of good) expect(status).toBe(200);

  // Keystone is back: the probe validates a token that was never seen.
  silence.resolve();
  silence = undefined;
  const status = async () => (await world.ask('GET', path, { token: 'reader-token' })).status;
  await eventually(status).toBe(200);
  expect((await world.ask('GET', path, { token: 'bogus-0-0' })).status).toBe(401);
});
