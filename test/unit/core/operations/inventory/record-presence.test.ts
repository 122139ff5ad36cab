import { expect, it } from 'vitest';
import type { PresenceEvent } from '#core/contracts/queues/queue-messages.ts';
import type { Presence } from '#core/domain/host/host.ts';
import { recordPresence } from '#core/operations/hosts/record-presence.ts';
import { countingMetrics, someDeps } from '#test/support/deps.ts';

/**
 * Records an event of a host with this stored presence; `isLate`: another write came in between.
 */
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
        putSummaryPart: async () => true,
      },
    },
  });
  const event = { clientId: 'test:cmp1', eventType, timestamp: Date.parse('2026-07-01') };
  const error = await recordPresence(deps, 'cmp1', event).catch(({ name }: Error) => name);
  return { counted: counted.map(({ name }) => name), written, error };
}

const before = (isConnected: boolean) => ({ isConnected, at: '2026-06-01T00:00:00.000Z' });

it.each([
  ['connected', 'AgentsConnected', true],
  ['disconnected', 'AgentsDisconnected', false],
] as const)('an agent that %s is counted and stored', async (eventType, name, isConnected) => {
  const known = before(!isConnected);
  expect(await record(eventType, { known })).toEqual({ counted: [name], written: [isConnected] });
});

it('a host that is not known begins with a connection, not with the end of one', async () => {
  expect((await record('connected')).written).toEqual([true]);
  expect(await record('disconnected')).toEqual({ counted: [], written: [] });
});

it('an outdated event is neither counted nor stored', async () => {
  const known = { isConnected: true, at: '2026-07-02T00:00:00.000Z' };
  expect(await record('disconnected', { known })).toEqual({ counted: [], written: [] });
});

it('a contended event is counted and retried, so that no event is missed', async () => {
  expect(await record('connected', { isLate: true })).toEqual({
    counted: ['AgentsConnected'],
    written: [true],
    error: 'RetryLater',
  });
});
