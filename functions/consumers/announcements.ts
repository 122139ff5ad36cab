import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SQSClient } from '@aws-sdk/client-sqs';
import { createEvents } from '#core/clients/aws/events.ts';
import { createDeadLetter, createQueues } from '#core/clients/aws/queues.ts';
import { deriveHistory } from '#core/domain/history/history-of-change.ts';
import { marksOfChange } from '#core/domain/history/incident-marks.ts';
import { toDomainEvents } from '#core/domain/outbox/domain-events.ts';
import { createLog } from '#core/log.ts';
import { createMetrics } from '#core/metrics.ts';
import { type Announcer, announce } from '#core/operations/outbox/announce.ts';
import { countEvents } from '#core/operations/outbox/count-changes.ts';
import { toEvents } from '#core/operations/outbox/events-of-change.ts';
import { markIncidents } from '#core/operations/outbox/mark-incidents.ts';
import { writeHistory } from '#core/operations/outbox/write-history.ts';
import { loadSettings } from '#core/settings.ts';
import { historyWriter } from '#core/store/history/history.ts';
import { incidentMarker } from '#core/store/hosts/incident-marks.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { tableName } from '#core/store/table/tables.ts';
import { decideChanges } from './batch/stream-changes.ts';
import type { StreamHandler } from './changes.ts';

/**
 * The tables' streams → the history, marks of hosts and devices with incidents, and domain events
 * for other services and for the metrics. It reads in parallel with `changes`, and delays no bind.
 * A stream allows two readers, so one does all of this; what EventBridge does not take goes to a
 * queue, and the history never waits for it.
 */
export function announcementsConsumer(makeAnnouncer = createAnnouncer): StreamHandler {
  let announcer: Announcer | undefined;
  return async (event) => {
    announcer ??= makeAnnouncer();
    const { stage, history, incidentMarks } = announcer;
    const changes = await decideChanges(announcer, event.Records, (change, metadata) => {
      const domainEvents = toDomainEvents(change);
      return {
        change,
        marks: marksOfChange(change),
        at: new Date(metadata.at).toISOString(),
        // Here a change that no record can be made of is dead-lettered, and blocks no other.
        records: deriveHistory(change, metadata),
        events: domainEvents.flatMap((each) => toEvents(each, { ...metadata, stage })),
        domainEvents,
      };
    });
    const decisions = changes.map(({ decision }) => decision);
    await markIncidents(incidentMarks, decisions);
    await writeHistory(history, decisions);
    await announce(
      announcer,
      decisions.flatMap(({ events }) => events),
    );
    // Last: a batch that fails is read again, and would be counted twice.
    countEvents(
      announcer.metrics,
      decisions.flatMap(({ domainEvents }) => domainEvents),
    );
    return { batchItemFailures: [] };
  };
}

export const handler = announcementsConsumer();

/** A bus that hangs must not use up the function's 30 s: the history would wait with it. */
const answersInTime = {
  maxAttempts: 2,
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 4_000, throwOnRequestTimeout: true },
};

function createAnnouncer(): Announcer {
  const { stage, queueUrls, deadQueueUrls, historyDays } = loadSettings(process.env);
  const sqs = new SQSClient();
  const log = createLog('announcements');
  const { documents } = createDocuments();
  const history = tableName(stage, 'history');
  const inventory = tableName(stage, 'inventory');
  return {
    stage,
    log,
    history: historyWriter(documents, { history, inventory }, historyDays),
    incidentMarks: incidentMarker(documents, inventory),
    events: createEvents(new EventBridgeClient(answersInTime), stage),
    queues: createQueues(sqs, queueUrls),
    metrics: createMetrics(stage),
    deadLetter: createDeadLetter(sqs, deadQueueUrls.announcements),
  };
}
