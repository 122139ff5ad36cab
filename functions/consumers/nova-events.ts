import { novaEventMessage } from '#core/contracts/queues/queue-messages.ts';
import { notifyNova } from '#core/operations/outbox/notify-nova.ts';
import { lookAtServer } from '#core/operations/release/reap/look-at-server.ts';
import { queueConsumer } from './batch/queue-consumer.ts';

/** A binding was resolved → notify Nova. A bind began → look at its server. */
export const makeConsumer = queueConsumer(
  'nova-events',
  novaEventMessage,
  (deps, message, { attempt }) =>
    message.is_look ? lookAtServer(deps, message, attempt) : notifyNova(deps, message, attempt),
  // A look repeated half a minute after a crash is soon enough.
  (message) => !message.is_look,
);

export const handler = makeConsumer();
