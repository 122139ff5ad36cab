import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs } from '#agent/backoff.ts';

describe('waiting before the next attempt to connect', () => {
  it('takes one to two seconds after the first failure', () => {
    expect([backoffMs(0, 0), backoffMs(0, 0.999)]).toEqual([1000, 1999]);
  });

  it('is never shorter than a second nor longer than two minutes', () => {
    fc.assert(
      fc.property(fc.nat(), fc.double({ min: 0, max: 0.999, noNaN: true }), (failures, random) => {
        const delayMs = backoffMs(failures, random);
        expect(delayMs).toBeGreaterThanOrEqual(1_000);
        expect(delayMs).toBeLessThanOrEqual(120_000);
      }),
    );
  });

  it('may grow with each failure', () => {
    expect([1, 2, 3].map((failures) => backoffMs(failures, 0.5))).toEqual([2500, 4500, 8500]);
  });
});
