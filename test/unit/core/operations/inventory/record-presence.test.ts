import { expect, it } from 'vitest';
import type { PresenceEvent } from '#core/contracts/queue-messages.ts';
import type { Presence } from '#core/domain/device.ts';
import { recordPresence } from '#core/operations/inventory/record-presence.ts';
import { countingMetrics, someDeps } from '#test/support/deps.ts';

/** Of a host of which this is known; `isLate`: somebody else has written in between. */
async function record(
  eventType: PresenceEvent['eventType'],
  { known, isLate = false }: { known?: Presence; isLate?: boolean } = {},
) {
  const { metrics, counted } = countingMetrics();
  const written: boolean[] = [];
  const deps = someDeps({
    metrics,
    store: {
      inventory: {
        host: async () => ({ host: { ...(known && { presence: known }) }, devices: [] }) as never,
        putPresence: async (_host, { isConnected }) => {
          written.push(isConnected);
          return !isLate;
        },
      },
    },
  });
  const event = { clientId: 'test:cmp1', eventType, timestamp: Date.parse('2026-07-01') };
  const error = await recordPresence(deps, 'cmp1', event).catch(({ name }: Error) => name);
  return { counted: counted.map(({ name }) => name), written, error };
}

it.each([
  ['connected', 'AgentsConnected', true],
  ['disconnected', 'AgentsDisconnected', false],
] as const)(
  'an agent that %s is counted and written down',
  async (eventType, name, isConnected) => {
    expect(await record(eventType)).toEqual({ counted: [name], written: [isConnected] });
  },
);

it('what is older than what is known is neither', async () => {
  const known = { isConnected: true, at: '2026-07-02T00:00:00.000Z' };
  expect(await record('disconnected', { known })).toEqual({ counted: [], written: [] });
});

it('what could not be written is counted when it comes again, so never missed', async () => {
  expect(await record('connected', { isLate: true })).toEqual({
    counted: ['AgentsConnected'],
    written: [true],
    error: 'RetryLater',
  });
});
