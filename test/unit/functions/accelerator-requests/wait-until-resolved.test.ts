import { expect, it } from 'vitest';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import { waitUntilResolved } from '#functions/accelerator-requests/wait-until-resolved.ts';
import { someDeps, someSettings } from '#test/support/deps.ts';

const started = { instanceUuid: 'i', state: 'BindStarted' } as InstanceBinding;

/** Time passes only while the code sleeps. */
function deps(resolveWaitSeconds: number) {
  let now = 0;
  let reads = 0;
  const given = someDeps({
    settings: { ...someSettings, resolveWaitSeconds },
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
  const { given, waitedMs, reads } = deps(25);
  expect(await waitUntilResolved(given, started)).toEqual(started);
  expect(waitedMs()).toBe(25_000);
  expect(reads()).toBeLessThanOrEqual(105);
});

it('does not wait when the setting is 0', async () => {
  const { given, reads } = deps(0);
  expect(await waitUntilResolved(given, started)).toEqual(started);
  expect(reads()).toBe(0);
});

it('does not wait for a binding that is reprovisioned', async () => {
  const { given, reads } = deps(25);
  await waitUntilResolved(given, { ...started, state: 'provisioning' });
  expect(reads()).toBe(0);
});
