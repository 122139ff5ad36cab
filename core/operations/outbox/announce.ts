import type { Events } from '../../clients/events.ts';
import type { DeadLetter } from '../../clients/queues.ts';
import type { CyborgEvent } from '../../contracts/events.ts';
import type { Deps } from '../../deps.ts';
import { domainEventsOf } from '../../domain/domain-events.ts';
import type { Change } from '../../domain/outbox.ts';
import type { HistoryWriter } from '../../store/history.ts';
import { type EventMetadata, eventsOf } from './events-of-change.ts';

export interface Announcer {
  readonly stage: string;
  readonly events: Events;
  readonly history: HistoryWriter;
  readonly log: Deps['log'];
  /** Dead-letters an event for an operator. */
  readonly deadLetter: DeadLetter;
}

/**
 * The events on the bus that tell of a committed change; their ids are the same at each reading.
 */
export function eventsOfChange(change: Change, metadata: EventMetadata): CyborgEvent[] {
  return domainEventsOf(change).flatMap((event) => eventsOf(event, metadata));
}

/**
 * Tells EventBridge of committed changes. An event that EventBridge refuses for good is
 * dead-lettered.
 *
 * @param changes the events of each
 * @returns the index of the first change that has to be announced again; undefined when all are
 *   done
 */
export async function announce(
  { events, log, deadLetter }: Announcer,
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
      await deadLetter({ cause: outcome.cause, event });
    } else {
      if (first === undefined) log.warn('Events cannot be put yet.', { cause: outcome.cause });
      first ??= index;
    }
  }
  return first;
}
