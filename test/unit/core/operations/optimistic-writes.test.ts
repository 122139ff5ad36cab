import { describe, expect, it } from 'vitest';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';

describe('a contended write', () => {
  it('is retried until it succeeds, and its outcome is returned', async () => {
    const rounds: number[] = [];
    const written = await untilWritten(
      'devices',
      async (round) => {
        rounds.push(round);
        return round < 3 ? contended : `round ${round}`;
      },
      'Nothing was written',
    );
    expect([written, rounds]).toEqual(['round 3', [1, 2, 3]]);
  });

  it('fails with the given error after the last round', async () => {
    let rounds = 0;
    const attempt = async () => {
      rounds += 1;
      return contended;
    };
    await expect(untilWritten('devices', attempt, 'Nothing was written')).rejects.toThrow(
      'Nothing was written in 5 rounds.',
    );
    expect(rounds).toBe(5);
  });

  it('is not retried after an error', async () => {
    const attempt = () => Promise.reject(new Error('refused'));
    await expect(untilWritten('devices', attempt, '')).rejects.toThrow('refused');
  });
});
