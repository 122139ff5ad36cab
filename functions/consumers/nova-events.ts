import { novaEventMessage } from '#core/contracts/queue-messages.ts';
import { tellNova } from '#core/operations/outbox/tell-nova.ts';
import { queueConsumer } from './queue-consumer.ts';

/** A binding was resolved → notify Nova. */
export const makeConsumer = queueConsumer(
  'nova-events',
  novaEventMessage,
  (deps, message, { attempt }) => tellNova(deps, message, attempt),
);

export const handler = makeConsumer();
