import { describe, expect, it } from 'vitest';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';

const exhausted = () => new Error('All rounds were contended.');

describe('a contended write', () => {
  it('is retried until it succeeds, and its outcome is returned', async () => {
    const rounds: number[] = [];
    const written = await untilWritten(
      5,
      async (round) => {
        rounds.push(round);
        return round < 3 ? contended : `round ${round}`;
      },
      exhausted,
    );
    expect([written, rounds]).toEqual(['round 3', [1, 2, 3]]);
  });

  it('fails with the given error after the last round', async () => {
    let rounds = 0;
    const attempt = async () => {
      rounds += 1;
      return contended;
    };
    await expect(untilWritten(2, attempt, exhausted)).rejects.toThrow('All rounds were contended.');
    expect(rounds).toBe(2);
  });

  it('is not retried after an error', async () => {
    const attempt = () => Promise.reject(new Error('refused'));
    await expect(untilWritten(2, attempt, exhausted)).rejects.toThrow('refused');
  });
});
