// External events of the fake Nova: which it accepts, and the waiters in nova-compute.

import * as z from 'zod';
import { Refusal } from '#local/openstack/http-service.ts';
import { type NovaState, recordEvent } from './state.ts';

/** A wait for one event; the promise resolves with the event's status. */
export interface Waiter {
  readonly arrived: Promise<string>;
  /** Ends the wait. */
  cancel(): void;
}

export class Waiters {
  readonly #waiting = new Map<string, (status: string) => void>();

  expect(serverId: string, tag: string): Waiter {
    const key = `${serverId} ${tag}`;
    const arrived = new Promise<string>((resolve) => this.#waiting.set(key, resolve));
    return { arrived, cancel: () => void this.#waiting.delete(key) };
  }

  /** Like nova-compute, drops an event without a waiter. */
  deliver(serverId: string, tag: string, status: string): void {
    const key = `${serverId} ${tag}`;
    this.#waiting.get(key)?.(status);
    this.#waiting.delete(key);
  }
}

const bound = 'accelerator-request-bound';

// Event names by the microversion (its minor number) that added them.
const namesSince: Readonly<Record<string, number>> = {
  'network-changed': 1,
  'network-vif-plugged': 1,
  'network-vif-unplugged': 1,
  'network-vif-deleted': 1,
  'volume-extended': 51,
  'power-update': 76,
  [bound]: 82,
};

const needTag: readonly string[] = [bound, 'volume-extended', 'power-update'];

const eventsBody = z.strictObject({
  events: z
    .array(
      z.strictObject({
        name: z.string(),
        server_uuid: z.guid(),
        status: z.enum(['completed', 'failed', 'in-progress']).optional(),
        tag: z.string().max(255).optional(),
      }),
    )
    .min(1),
});

/** The answer: 200 if all events are accepted, else 207. @throws Refusal 400 */
export function takeEvents(
  state: NovaState,
  waiters: Waiters,
  body: unknown,
  minor: number,
): { status: 200 | 207; body: unknown } {
  const parsed = eventsBody.safeParse(body);
  if (!parsed.success) throw new Refusal(400, `Invalid input. ${z.prettifyError(parsed.error)}`);
  const { events } = parsed.data;
  const validNames = Object.keys(namesSince).filter((name) => (namesSince[name] ?? 0) <= minor);
  const odd = events.find(({ name }) => !validNames.includes(name));
  if (odd) {
    const names = validNames.map((name) => `'${name}'`).join(', ');
    const field = `Invalid input for field/attribute name. Value: ${odd.name}.`;
    throw new Refusal(400, `${field} '${odd.name}' is not one of [${names}]`);
  }
  const answered = events.map((event) => {
    const code = codeFor(state, event);
    const status = event.status ?? 'completed';
    recordEvent(state, { ...event, status, code, receivedAt: new Date().toISOString() });
    if (code === 200) waiters.deliver(event.server_uuid, event.tag ?? '', status);
    // Nova replaces the status in the request with the outcome of the event.
    return { ...event, status: code === 200 ? 'completed' : 'failed', code };
  });
  return {
    status: answered.every(({ code }) => code === 200) ? 200 : 207,
    body: { events: answered },
  };
}

function codeFor(
  state: NovaState,
  event: { readonly name: string; readonly server_uuid: string; readonly tag?: string | undefined },
): number {
  const server = state.servers[event.server_uuid];
  if (!server) return 404;
  if (event.tag === undefined && needTag.includes(event.name)) return 400;
  return server.host === null ? 422 : 200;
}
