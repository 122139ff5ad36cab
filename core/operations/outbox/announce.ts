import type { Events } from '#core/clients/aws/events.ts';
import type { DeadLetter, Queues } from '#core/clients/aws/queues.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { CyborgEvent } from '#core/contracts/events.ts';
import type { Deps } from '#core/deps.ts';
import type { HistoryWriter } from '#core/store/history/history.ts';
import type { IncidentMarker } from '#core/store/hosts/incident-marks.ts';

export interface Announcer {
  readonly stage: string;
  readonly events: Events;
  readonly history: HistoryWriter;
  readonly incidentMarks: IncidentMarker;
  readonly queues: Queues;
  readonly metrics: ConsumerDeps['metrics'];
  readonly log: Deps['log'];
  /** Dead-letters an event for an operator. */
  readonly deadLetter: DeadLetter;
}

/**
 * Sends events to EventBridge. Events that it does not take now wait in a queue of their own, so
 * that the history goes on; an event that it refuses for good is dead-lettered.
 */
export async function announce(
  { events, queues, log, deadLetter }: Announcer,
  all: readonly CyborgEvent[],
): Promise<void> {
  if (all.length === 0) return;
  const outcomes = await events.put(all);
  const late: CyborgEvent[] = [];
  let cause: string | undefined;
  for (const [index, event] of all.entries()) {
    const outcome = outcomes[index];
    if (!outcome || outcome.end === 'put') continue;
    if (outcome.end === 'refused') {
      log.error('Event refused by EventBridge', { event, cause: outcome.cause });
      await deadLetter({ cause: outcome.cause, event });
    } else {
      late.push(event);
      cause ??= outcome.cause;
    }
  }
  if (late.length === 0) return;
  log.warn('Events delayed: EventBridge is away', { count: late.length, cause });
  await queues.send('late-events', late);
}
