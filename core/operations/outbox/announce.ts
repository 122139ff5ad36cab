import type { Events } from '../../clients/events.ts';
import type { DeadLetter } from '../../clients/queues.ts';
import type { CyborgEvent } from '../../contracts/events.ts';
import type { Deps } from '../../deps.ts';
import { domainEventsOf } from '../../domain/domain-events.ts';
import type { Change } from '../../domain/outbox.ts';
import { eventsOf, type Occasion } from './events-of-change.ts';

export interface Announcer {
  readonly stage: string;
  readonly events: Events;
  readonly log: Deps['log'];
  /** Keeps for an operator what will never be announced by itself. */
  readonly setAside: DeadLetter;
}

/** By which others are told of a committed change: the same events whenever it is read, by their ids. */
export function eventsOfChange(change: Change, occasion: Occasion): CyborgEvent[] {
  return domainEventsOf(change).flatMap((fact) => eventsOf(fact, occasion));
}

/**
 * Tells EventBridge of committed changes. What it refuses for good is set aside and holds up nothing.
 *
 * @param changes the events of each
 * @returns the index of the first change that has to be announced again; undefined when all are done
 */
export async function announce(
  { events, log, setAside }: Announcer,
  changes: readonly (readonly CyborgEvent[])[],
): Promise<number | undefined> {
  const all = changes.flatMap((own, index) => own.map((event) => ({ event, index })));
  if (all.length === 0) return undefined;
  const outcomes = await events.put(all.map(({ event }) => event));
  let first: number | undefined;
  for (const [at, { event, index }] of all.entries()) {
    const outcome = outcomes[at];
    if (!outcome || outcome.end === 'put') continue;
    if (outcome.end === 'refused') {
      log.error('EventBridge refuses an event.', { event, cause: outcome.cause });
      await setAside({ cause: outcome.cause, event });
    } else {
      if (first === undefined) log.warn('Events cannot be put yet.', { cause: outcome.cause });
      first ??= index;
    }
  }
  return first;
}
