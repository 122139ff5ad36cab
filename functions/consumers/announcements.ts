import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SQSClient } from '@aws-sdk/client-sqs';
import { createEvents } from '#core/clients/events.ts';
import { createDeadLetter } from '#core/clients/queues.ts';
import { historyOf } from '#core/domain/history-of-change.ts';
import { createLog } from '#core/log.ts';
import { type Announcer, announce, eventsOfChange } from '#core/operations/outbox/announce.ts';
import { writeHistory } from '#core/operations/outbox/write-history.ts';
import { loadSettings } from '#core/settings.ts';
import { createDocuments } from '#core/store/documents.ts';
import { historyWriter } from '#core/store/history.ts';
import { tableName } from '#core/store/tables.ts';
import type { StreamHandler } from './changes.ts';
import { decideChanges } from './stream-changes.ts';

/**
 * The tables' streams → the history, and domain events for other services. It reads in parallel
 * with `changes`: an outage of EventBridge pauses it and delays no bind. A stream allows two
 * readers, so the history waits with the events then; the stream keeps both for a day.
 */
export function announcementsConsumer(makeAnnouncer = createAnnouncer): StreamHandler {
  let announcer: Announcer | undefined;
  return async (event) => {
    announcer ??= makeAnnouncer();
    const { stage, history } = announcer;
    const changes = await decideChanges(announcer, event.Records, (change, metadata) => ({
      change,
      // Here a change that no record can be made of is dead-lettered, and blocks no other.
      records: historyOf(change, metadata),
      events: eventsOfChange(change, { ...metadata, stage }),
    }));
    await writeHistory(
      history,
      changes.map(({ decision }) => decision),
    );
    const events = changes.map(({ decision }) => decision.events);
    const first = await announce(announcer, events);
    const failed = first === undefined ? undefined : changes[first];
    return {
      batchItemFailures: failed ? [{ itemIdentifier: failed.sequenceNumber }] : [],
    };
  };
}

export const handler = announcementsConsumer();

function createAnnouncer(): Announcer {
  const { stage, deadQueueUrls, historyDays } = loadSettings(process.env);
  const log = createLog('announcements');
  const { documents } = createDocuments();
  const history = tableName(stage, 'history');
  const inventory = tableName(stage, 'inventory');
  return {
    stage,
    log,
    history: historyWriter(documents, { history, inventory }, historyDays),
    events: createEvents(new EventBridgeClient(), stage),
    deadLetter: createDeadLetter(new SQSClient(), deadQueueUrls.announcements),
  };
}
