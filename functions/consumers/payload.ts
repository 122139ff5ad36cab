import type * as z from 'zod';
import type { RuleEnvelope } from '#core/contracts/queue-messages.ts';
import { hostnameOf, isHostname, isThingOf } from '#core/contracts/topics.ts';
import type { Deps } from '#core/deps.ts';

/**
 * What a rule's envelope holds. A payload that is not what it should be will not become it by another
 * delivery: it is logged with its sender and dropped, and undefined returned.
 */
export function parsePayload<T>(
  deps: Deps,
  schema: z.ZodType<T>,
  envelope: RuleEnvelope,
): T | undefined {
  try {
    return schema.parse(JSON.parse(Buffer.from(envelope.payload, 'base64').toString('utf8')));
  } catch (error) {
    deps.log.error('Refused a payload.', {
      thing: envelope.thing,
      topic: envelope.topic,
      error: (error as Error).message.slice(0, 1000),
    });
    return undefined;
  }
}

/** Whose message it is, by its topic. A thing that cannot be a host's is refused as above. */
export function hostOf(deps: Deps, { thing, topic }: RuleEnvelope): string | undefined {
  const hostname = hostnameOf(thing);
  if (isThingOf(deps.settings.stage, thing) && isHostname(hostname)) return hostname;
  deps.log.error('Refused a thing that cannot be a host of this stage.', { thing, topic });
  return undefined;
}
