import { describe, expect, it } from 'vitest';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import type { DueKind } from '#core/store/rows/shards.ts';
import { someDeps } from '#test/support/deps.ts';

/** Sweeps what is overdue, with two rows a page, and records the order. */
async function sweepOf(
  overdue: Readonly<Record<DueKind, readonly string[]>>,
  unread: Partial<Record<DueKind, readonly Error[]>> = {},
) {
  const come: string[] = [];
  const done = new Set<string>();
  const note = (uuid: string) => {
    come.push(uuid);
    if (uuid.startsWith('bad')) throw new Error(`${uuid} is broken`);
    done.add(uuid);
  };
  const deps = someDeps({
    listings: {
      overdue: async (kind) => ({
        uuids: overdue[kind].filter((uuid) => !done.has(uuid)).slice(0, 2),
        faults: unread[kind] ?? [],
      }),
    },
    store: {
      arqs: {
        deleteUnbound: async (uuid) => {
          note(uuid);
          return true;
        },
        binding: async (uuid) => note(uuid) as undefined,
      },
      releases: { awaited: async (uuid) => note(uuid) as undefined },
    },
  });
  const fault = await sweep(deps).then(
    () => undefined,
    (error: Error) => error.message,
  );
  return { come, fault };
}

describe('the sweep', () => {
  it('ends binds first, then releases and programs, and all pages of each', async () => {
    const swept = await sweepOf({
      arq: ['arq-1', 'arq-2', 'arq-3'],
      binding: ['binding-1'],
      awaited: ['release-1', 'program-1'],
      quota: [],
    });
    expect(swept).toEqual({
      come: ['binding-1', 'release-1', 'program-1', 'arq-1', 'arq-2', 'arq-3'],
      fault: undefined,
    });
  });

  it('goes on after an error, visits each row once, and throws the error at the end', async () => {
    const swept = await sweepOf({
      arq: ['arq-1'],
      binding: ['bad-1', 'binding-2'],
      awaited: [],
      quota: [],
    });
    expect(swept).toEqual({ come: ['bad-1', 'binding-2', 'arq-1'], fault: 'bad-1 is broken' });
  });

  it('ends what it could read where shards could not be read, and throws their error', async () => {
    const swept = await sweepOf(
      { arq: ['arq-1'], binding: ['binding-1'], awaited: ['release-1'], quota: [] },
      { binding: [new Error('throttled')] },
    );
    expect(swept).toEqual({ come: ['binding-1', 'release-1', 'arq-1'], fault: 'throttled' });
  });
});
