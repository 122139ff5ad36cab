import { expect, it } from 'vitest';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import { waitUntilResolved } from '#functions/accelerator-requests/wait-until-resolved.ts';
import { someDeps } from '#test/support/deps.ts';

const started = { instanceUuid: 'i', state: 'BindStarted' } as InstanceBinding;

/** Time passes only while the code sleeps. */
function deps() {
  let now = 0;
  let reads = 0;
  const given = someDeps({
    clock: () => now,
    sleep: async (milliseconds) => {
      now += milliseconds;
    },
    store: {
      arqs: {
        binding: async () => {
          reads += 1;
          return started;
        },
      },
    },
  });
  return { given, waitedMs: () => now, reads: () => reads };
}

it('gives up below the gateway limit of 30 s, at four reads a second', async () => {
  const { given, waitedMs, reads } = deps();
  expect(await waitUntilResolved(given, started, 25_000)).toEqual(started);
  expect(waitedMs()).toBe(25_000);
  expect(reads()).toBeLessThanOrEqual(105);
});

it('does not wait when its time is over', async () => {
  const { given, reads } = deps();
  expect(await waitUntilResolved(given, started, 0)).toEqual(started);
  expect(reads()).toBe(0);
});

it('does not wait for a binding that is reprovisioned', async () => {
  const { given, reads } = deps();
  await waitUntilResolved(given, { ...started, state: 'provisioning' }, 25_000);
  expect(reads()).toBe(0);
});
