// Ranges of time in queries.

import * as z from 'zod';
import { InvalidInput } from '#core/domain/errors.ts';

const message = 'must be a date such as 2026-03-01, or a time such as 2026-03-01T12:00:00Z';

/** A date in UTC, or a time with its offset. Stored times are compared as text. */
export const moment = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })], { error: message })
  .refine((text) => hasYearOfFourDigits(Date.parse(text)), message);

function hasYearOfFourDigits(ms: number): boolean {
  return !Number.isNaN(ms) && /^\d{4}-/.test(new Date(ms).toISOString());
}

/**
 * A time in the future as it is stored: times are compared as text.
 *
 * @throws InvalidInput
 */
export function futureTime(name: string, text: string, nowMs: number): string {
  const ms = Date.parse(text);
  if (ms > nowMs && hasYearOfFourDigits(ms)) return new Date(ms).toISOString();
  const now = new Date(nowMs).toISOString();
  throw new InvalidInput(
    `${name}: ${text} is not in the future, before the year 10000; it is ${now} now.`,
  );
}

export const dayMs = 24 * 60 * 60 * 1000;

export interface Range {
  /** ISO 8601, to the millisecond. */
  readonly from: string;
  readonly to: string;
}

/** @throws InvalidInput if it is empty, or longer than `daysMax` */
export function parseRange(from: string, to: string, daysMax: number): Range {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  if (fromMs >= toMs) {
    throw new InvalidInput(`from: ${from} must be before to, which is ${to}.`);
  }
  if (toMs - fromMs > daysMax * dayMs) {
    throw new InvalidInput(`from: at most ${daysMax} days before to, which is ${to}.`);
  }
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
}
