import { presenceEvent, ruleEnvelope } from '#core/contracts/queue-messages.ts';
import { hostnameOf } from '#core/contracts/topics.ts';
import { recordPresence } from '#core/operations/record-presence.ts';
import { parsePayload } from './payload.ts';
import { queueConsumer } from './queue-consumer.ts';

/** An agent connected or disconnected → its host's presence. */
export const handler = queueConsumer('host-presence', ruleEnvelope, async (deps, envelope) => {
  const event = parsePayload(deps, presenceEvent, envelope);
  if (event) await recordPresence(deps, hostnameOf(envelope.thing), event);
});
