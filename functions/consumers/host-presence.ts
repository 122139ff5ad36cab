import { presenceEvent, ruleEnvelope } from '#core/contracts/queue-messages.ts';
import { recordPresence } from '#core/operations/record-presence.ts';
import { hostOf, parsePayload } from './payload.ts';
import { queueConsumer } from './queue-consumer.ts';

/** An agent connected or disconnected → its host's presence. */
export const makeConsumer = queueConsumer('host-presence', ruleEnvelope, async (deps, envelope) => {
  const hostname = hostOf(deps, envelope);
  const event = hostname && parsePayload(deps, presenceEvent, envelope);
  if (event) await recordPresence(deps, hostname, event);
});

export const handler = makeConsumer();
