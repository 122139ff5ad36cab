import { beforeEach, expect, it } from 'vitest';
import {
  type CircuitBreaker,
  createCircuitBreaker,
} from '#core/clients/openstack/keystone/circuit-breaker.ts';

class Failure extends Error {}
class Refused extends Error {
  readonly waitMs: number;
  constructor(waitMs: number) {
    super(`refused for ${waitMs} ms`);
    this.waitMs = waitMs;
  }
}

let now: number;
let calls: number;
let told: string[];
let random: number;
let breaker: CircuitBreaker;

beforeEach(() => {
  now = 0;
  calls = 0;
  told = [];
  random = 0;
  breaker = createCircuitBreaker({
    clock: () => now,
    failuresMax: 3,
    openMs: 5_000,
    openMsMax: 15_000,
    random: () => random,
    isFailure: (error) => error instanceof Failure,
    refusal: (waitMs) => new Refused(waitMs),
    onOpen: (waitMs) => told.push(`open ${waitMs}`),
    onClose: () => told.push('closed'),
  });
});

const succeed = () => breaker(async () => (calls += 1));
const fail = (error: Error = new Failure()) =>
  breaker(async () => {
    calls += 1;
    throw error;
  }).catch((caught: unknown) => caught);

async function open(): Promise<void> {
  for (let count = 0; count < 3; count += 1) await fail();
}

it('refuses calls after three failures in a row, and names the remaining time', async () => {
  await open();
  now += 1_000;
  expect(await fail()).toMatchObject({ waitMs: 4_000 });
  expect(calls).toBe(3);
  expect(told).toEqual(['open 5000']);
});

it('stays closed after a success between failures', async () => {
  for (let count = 0; count < 5; count += 1) {
    await fail();
    await fail();
    await succeed();
  }
  expect(calls).toBe(15);
});

it('does not count an error that is not a failure', async () => {
  for (let count = 0; count < 5; count += 1) await fail(new TypeError('not understood'));
  expect(await succeed()).toBe(6);
});

it('closes when a probe succeeds', async () => {
  await open();
  now += 5_000;
  await succeed();
  await fail();
  await succeed();
  expect(calls).toBe(6);
  expect(told).toEqual(['open 5000', 'closed']);
});

it('opens for twice as long when a probe fails, up to the longest', async () => {
  await open();
  for (const openMs of [5_000, 10_000, 15_000]) {
    now += openMs - 1;
    expect(await fail()).toBeInstanceOf(Refused);
    now += 1;
    expect(await fail()).toBeInstanceOf(Failure);
  }
  expect(calls).toBe(6);
  expect(told).toEqual(['open 5000', 'open 10000', 'open 15000', 'open 15000']);
});

it('is open for a random time, so that containers probe at different times', async () => {
  random = 0.5;
  await open();
  expect(told).toEqual(['open 3750']);
  now += 3_750;
  await succeed();
});

it('lets one probe through at a time', async () => {
  await open();
  now += 5_000;
  const answer = Promise.withResolvers<string>();
  const probe = breaker(() => answer.promise);
  expect(await fail()).toBeInstanceOf(Refused);
  answer.resolve('here');
  expect(await probe).toBe('here');
  await succeed();
});

it('lets the next probe through after one ended with another error', async () => {
  await open();
  now += 5_000;
  expect(await fail(new TypeError('not understood'))).toBeInstanceOf(TypeError);
  await succeed();
  expect(told).toEqual(['open 5000', 'closed']);
});

it('ignores the failure of a call that began before the circuit opened', async () => {
  const late = Promise.withResolvers<never>();
  const slow = breaker(() => late.promise).catch((error: unknown) => error);
  await open();
  now += 4_000;
  late.reject(new Failure());
  await slow;
  now += 1_000;
  await succeed();
  expect(told).toEqual(['open 5000', 'closed']);
});
