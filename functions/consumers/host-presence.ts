import { presenceEvent, ruleEnvelope } from '#core/contracts/queue-messages.ts';
import { recordPresence } from '#core/operations/hosts/record-presence.ts';
import { readEnvelopeHost, readPayload } from './payload.ts';
import { queueConsumer } from './queue-consumer.ts';

/** An agent connected or disconnected → its host's presence. */
export const makeConsumer = queueConsumer('host-presence', ruleEnvelope, async (deps, envelope) => {
  const hostname = readEnvelopeHost(deps, envelope);
  await recordPresence(deps, hostname, readPayload(presenceEvent, envelope));
});

export const handler = makeConsumer();
