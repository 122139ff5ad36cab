import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SQSClient } from '@aws-sdk/client-sqs';
import { createEvents } from '#core/clients/events.ts';
import { createDeadLetter } from '#core/clients/queues.ts';
import { createLog } from '#core/log.ts';
import { type Announcer, announce, eventsOfChange } from '#core/operations/outbox/announce.ts';
import { loadSettings } from '#core/settings.ts';
import type { StreamHandler } from './changes.ts';
import { decideChanges } from './stream-changes.ts';

/**
 * The tables' streams → domain events for other services. It reads in parallel with `changes`: an
 * outage of EventBridge pauses it and delays no bind.
 */
export function announcementsConsumer(makeAnnouncer = createAnnouncer): StreamHandler {
  let announcer: Announcer | undefined;
  return async (event) => {
    announcer ??= makeAnnouncer();
    const { stage } = announcer;
    const changes = await decideChanges(announcer, event.Records, (change, metadata) =>
      eventsOfChange(change, { ...metadata, stage }),
    );
    const events = changes.map(({ decision }) => decision);
    const first = await announce(announcer, events);
    const failed = first === undefined ? undefined : changes[first];
    return {
      batchItemFailures: failed ? [{ itemIdentifier: failed.sequenceNumber }] : [],
    };
  };
}

export const handler = announcementsConsumer();

function createAnnouncer(): Announcer {
  const { stage, deadQueueUrls } = loadSettings(process.env);
  return {
    stage,
    events: createEvents(new EventBridgeClient(), stage),
    log: createLog('announcements'),
    deadLetter: createDeadLetter(new SQSClient(), deadQueueUrls.announcements),
  };
}
