// Short host work sent to a connected host over MQTT, without a job of AWS IoT, and the host's
// answer. The document is that of the job, and so is the id: if no answer comes, the job follows.
// See docs/adr/0038-messages-before-jobs.md.

import * as z from 'zod';
import { deviceAddress } from '#core/shapes/derive/fields.ts';
import { offeredCard } from '#core/shapes/reported/offered-card.ts';

/** Work that may be sent by a message. */
export type SentKind = 'bind' | 'release';

/**
 * How long the control plane waits for the answer of a release before it creates the job. Of a
 * bind the sweep does so; see `bindDueAt` of core/domain/host-work/deadlines.ts.
 */
export const answerWithinSeconds = 30;

/**
 * A host that has not begun the work within these seconds leaves it to the job. A bind's check
 * changes nothing, so a busy host may come to it late.
 */
export const validFor: Readonly<Record<SentKind, number>> = { bind: 60, release: 15 };

const id = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);

export const workMessage = z.object({
  job_id: id,
  /** ISO 8601, by the control plane's clock. */
  valid_until: z.iso.datetime(),
  /** A job document; the agent parses it as it does that of a job. */
  document: z.unknown(),
});
export type WorkMessage = z.infer<typeof workMessage>;

/** The answer to a report that asks for the cards before, by address. */
export const cardsMessage = z.object({
  /** The boot that the report names. */
  boot_id: z.guid(),
  cards: z.record(deviceAddress, offeredCard),
});
export type CardsMessage = z.infer<typeof cardsMessage>;

export const workEnd = z.object({
  job_id: id,
  status: z.enum(['SUCCEEDED', 'FAILED', 'REJECTED']),
  /** `JobStatusDetails` of job-document.ts. */
  details: z.record(z.string().max(64), z.string().max(1024)),
});
export type WorkEnd = z.infer<typeof workEnd>;
