import { expect, it } from 'vitest';
import { createCloudClock } from '#agent/cloud-clock.ts';

/** The control plane's time at the start, and a host whose clock is ahead of it. */
const cloudMs = 1_790_000_000_000;

function aHost(aheadMs: number) {
  const host = { monotonicMs: 5_000, aheadMs };
  const clock = createCloudClock({
    monotonicMs: () => host.monotonicMs,
    wallMs: () => cloudMs + host.monotonicMs - 5_000 + host.aheadMs,
  });
  const cloudNow = () => cloudMs + host.monotonicMs - 5_000;
  /** The answer is written in the middle of the round trip. */
  const ask = (tripMs: number) => {
    const askedMs = host.monotonicMs;
    host.monotonicMs += tripMs / 2;
    const seconds = Math.floor(cloudNow() / 1000);
    host.monotonicMs += tripMs / 2;
    clock.note(seconds, askedMs);
  };
  return { host, clock, cloudNow, ask };
}

it('knows no time before the first answer', () => {
  const { clock } = aHost(0);
  expect([clock.nowMs(), clock.skew()]).toEqual([undefined, undefined]);
});

it.each([0, 120_000, -3_000, 86_400_000])('bounds the skew of a clock %d ms ahead', (aheadMs) => {
  const { host, clock, cloudNow, ask } = aHost(aheadMs);
  for (const [waitMs, tripMs] of [
    [0, 3_000],
    [313, 40],
    [60_377, 900],
    [300_000, 20],
  ] as const) {
    host.monotonicMs += waitMs;
    ask(tripMs);
    const { aheadMs: measured, withinMs } = clock.skew() ?? { aheadMs: Number.NaN, withinMs: 0 };
    expect(Math.abs(measured - aheadMs)).toBeLessThanOrEqual(withinMs);
    expect(Math.abs((clock.nowMs() ?? 0) - cloudNow())).toBeLessThanOrEqual(withinMs);
    expect(withinMs).toBeLessThanOrEqual(500 + tripMs / 2 + 1);
  }
});

it('keeps the time when the host sets its clock', () => {
  const { host, clock, cloudNow, ask } = aHost(120_000);
  ask(100);
  host.aheadMs = 0;
  expect(Math.abs((clock.nowMs() ?? 0) - cloudNow())).toBeLessThanOrEqual(551);
  expect(Math.abs(clock.skew()?.aheadMs ?? Number.NaN)).toBeLessThanOrEqual(551);
});

it('is less sure the longer no answer came', () => {
  const { host, clock, ask } = aHost(0);
  ask(100);
  const before = clock.skew()?.withinMs ?? 0;
  host.monotonicMs += 3_600_000;
  expect(clock.skew()?.withinMs).toBe(before + 720);
});

it('believes a control plane whose own clock was set', () => {
  const { host, clock, ask } = aHost(0);
  ask(100);
  clock.note(Math.floor(cloudMs / 1000) + 600, host.monotonicMs);
  expect(clock.skew()?.aheadMs).toBeLessThan(-598_000);
});
