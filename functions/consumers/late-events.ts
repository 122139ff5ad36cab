import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { createEvents, type Events } from '#core/clients/aws/events.ts';
import type { CyborgEvent } from '#core/contracts/events.ts';
import { lateEventMessage } from '#core/contracts/queues/queue-messages.ts';
import { backoffSeconds, RetryLater } from '#core/domain/retry-later.ts';
import { Unreadable } from './batch/payload.ts';
import { type MakeConsumer, queueConsumer } from './batch/queue-consumer.ts';

const pauseSecondsMax = 900;

/** Events that EventBridge did not take at first → EventBridge, until it takes them. */
export function lateEventsConsumer(makeEvents = createBus): MakeConsumer {
  let events: Events | undefined;
  return queueConsumer('late-events', lateEventMessage, async (deps, message, { attempt }) => {
    events ??= makeEvents(deps.settings.stage);
    // `put` checks the detail.
    const [outcome] = await events.put([message as CyborgEvent]);
    if (!outcome || outcome.end === 'put') return;
    if (outcome.end === 'refused') throw new Unreadable(outcome.cause);
    throw new RetryLater(outcome.cause, backoffSeconds(attempt, pauseSecondsMax));
  });
}

export const makeConsumer = lateEventsConsumer();

export const handler = makeConsumer();

function createBus(stage: string): Events {
  return createEvents(new EventBridgeClient(), stage);
}
