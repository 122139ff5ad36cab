import { novaEventMessage } from '#core/contracts/queue-messages.ts';
import { notifyNova } from '#core/operations/outbox/notify-nova.ts';
import { queueConsumer } from './queue-consumer.ts';

/** A binding was resolved → notify Nova. */
export const makeConsumer = queueConsumer(
  'nova-events',
  novaEventMessage,
  (deps, message, { attempt }) => notifyNova(deps, message, attempt),
);

export const handler = makeConsumer();
