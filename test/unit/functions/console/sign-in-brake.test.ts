import { beforeEach, describe, expect, it } from 'vitest';
import { createSignInBrake, type SignInBrake } from '#functions/console/sign-in-brake.ts';

let now: number;
let brake: SignInBrake;
beforeEach(() => {
  now = Date.UTC(2026, 0, 1);
  brake = createSignInBrake(() => now);
});

/** Seconds to wait; 0 for an attempt that Keystone then refuses. */
function fail(address: string, name: string): number {
  const attempt = brake.begin(address, name);
  return 'waitSeconds' in attempt ? attempt.waitSeconds : 0;
}

function succeed(address: string, name: string): boolean {
  const attempt = brake.begin(address, name);
  if ('waitSeconds' in attempt) return false;
  attempt.succeeded();
  return true;
}

/** The waits between failures that each come as soon as they may. */
function waits(address: string, count: number, nameOf: (index: number) => string): number[] {
  return Array.from({ length: count }, (_, index) => {
    const wait = fail(address, nameOf(index));
    now += wait * 1_000;
    if (wait > 0) fail(address, nameOf(index));
    return wait;
  });
}

describe('who fails from one address', () => {
  it('waits twice as long after each failure, for 15 minutes at most', () => {
    expect(waits('192.0.2.1', 15, (index) => `user ${index}`)).toEqual([
      0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900,
    ]);
  });

  it('is not counted again while it has to wait', () => {
    for (let count = 0; count < 3; count += 1) fail('192.0.2.1', 'admin');
    for (let count = 0; count < 100; count += 1) expect(fail('192.0.2.1', 'admin')).toBe(1);
    now += 1_000;
    expect(fail('192.0.2.1', 'admin')).toBe(0);
  });

  it('is forgotten an hour after the last failure', () => {
    waits('192.0.2.1', 12, () => 'admin');
    now += 60 * 60_000 + 1;
    expect(fail('192.0.2.1', 'admin')).toBe(0);
  });

  it('delays no other address, and no other /64 of IPv6', () => {
    waits('192.0.2.1', 12, () => 'admin');
    expect(succeed('192.0.2.2', 'admin')).toBe(true);
    waits('2001:db8::1', 12, (index) => `user ${index}`);
    expect(fail('2001:0db8:0:0:ffff::2', 'other')).toBeGreaterThan(0);
    expect(succeed('2001:db8:0:1::1', 'other')).toBe(true);
    expect(succeed('::1', 'other')).toBe(true);
  });
});

describe('who signs in', () => {
  it('does not wait, however many guess the name from other addresses', () => {
    for (let host = 0; host < 200; host += 1) {
      for (let count = 0; count < 5; count += 1) fail(`198.51.100.${host}`, 'admin');
    }
    expect(succeed('192.0.2.1', 'admin')).toBe(true);
  });

  it('waits for 30 s at most after a slip, while many guess the name', () => {
    for (let host = 0; host < 200; host += 1) fail(`198.51.100.${host}`, 'admin');
    expect(fail('192.0.2.1', 'admin')).toBe(0);
    expect(fail('192.0.2.1', 'admin')).toBe(30);
    now += 30_000;
    expect(succeed('192.0.2.1', 'admin')).toBe(true);
  });

  it('has no failures of the own name left, and keeps those of other names', () => {
    fail('192.0.2.1', 'admin');
    fail('192.0.2.1', 'admin');
    expect(succeed('192.0.2.1', 'admin')).toBe(true);
    expect([fail('192.0.2.1', 'admin'), fail('192.0.2.1', 'admin')]).toEqual([0, 0]);
    expect(succeed('192.0.2.1', 'mallory')).toBe(true);
    fail('192.0.2.1', 'admin');
    expect(fail('192.0.2.1', 'admin')).toBe(1);
    expect(succeed('192.0.2.1', 'mallory')).toBe(false);
  });

  it('is not delayed by attempts that Keystone did not judge', () => {
    for (let count = 0; count < 20; count += 1) {
      const attempt = brake.begin('192.0.2.1', 'admin');
      if ('waitSeconds' in attempt) throw new Error('It has to wait.');
      attempt.undone();
    }
  });
});

it('attempts at once are counted before Keystone has judged the first', () => {
  const waiting = Array.from({ length: 10 }, () => fail('192.0.2.1', 'admin'));
  expect(waiting.filter((seconds) => seconds === 0)).toHaveLength(3);
});
