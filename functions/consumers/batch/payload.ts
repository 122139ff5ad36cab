import type * as z from 'zod';
import type { RuleEnvelope } from '#core/contracts/queues/queue-messages.ts';
import { isHostname, isOfStage, readHostname } from '#core/contracts/topics.ts';
import type { Deps } from '#core/deps.ts';

/** A message that no delivery makes readable; the text says why. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

/** Parses JSON text. @throws Unreadable */
export function readJson<T>(schema: z.ZodType<T>, text: string): T {
  const parsed = schema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) => {
    return path.length > 0 ? `${path.join('.')}: ${message}` : message;
  });
  throw new Unreadable(printable(faults.join('; ')));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Unreadable(printable((error as Error).message));
  }
}

/** Parser errors quote their input, and SQS refuses characters that XML does not allow. */
function printable(text: string): string {
  return text
    .slice(0, 1000)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\uFFFE\uFFFF]/gu, '\uFFFD');
}

/** Parses the payload of a rule's envelope. @throws Unreadable */
export function readPayload<T>(schema: z.ZodType<T>, { payload }: RuleEnvelope): T {
  return readJson(schema, Buffer.from(payload, 'base64').toString('utf8'));
}

/** The host of the topic. @throws Unreadable if the thing is not a valid host of this stage */
export function readEnvelopeHost({ settings }: Deps, { thing }: RuleEnvelope): string {
  const hostname = readHostname(thing);
  if (isOfStage(settings.stage, thing) && isHostname(hostname)) return hostname;
  throw new Unreadable(`Thing ${JSON.stringify(thing)} is not a valid host of this stage.`);
}
