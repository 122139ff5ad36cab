// How many binds succeeded and failed in an hour, from records of the history. Pure.

import { importer } from '#core/domain/arq/imports.ts';
import type { HistoryRecord } from './history.ts';

export const hourMs = 3_600_000;

/** Later than this after its end an hour gets no further record, unless a stream is stuck. */
export const settledAfterMs = 15 * 60_000;

export interface BindCount {
  /** Its start, in ISO 8601. */
  readonly hour: string;
  readonly bound: number;
  readonly failed: number;
}

type Attempt = Pick<HistoryRecord, 'at' | 'by' | 'instanceUuid' | 'requestId'>;

/**
 * A bind claims all of its handles by one request, so each claim of an instance by another request
 * is another bind. One that still waits for its host counts as bound until it fails.
 *
 * @param claims those of the hour
 * @param failures those of the hour, and of the time until it is settled
 */
export function countBinds(
  hour: string,
  claims: readonly Attempt[],
  failures: readonly Attempt[],
): BindCount {
  return { hour, ...countOutcomes({ from: hour, to: hourAfter(hour) }, claims, failures) };
}

/** The same for any range; a failure at `to` or later is of a bind that the range may have. */
export function countOutcomes(
  { from, to }: { readonly from: string; readonly to: string },
  claims: readonly Attempt[],
  failures: readonly Attempt[],
): Pick<BindCount, 'bound' | 'failed'> {
  const failed = new Set(failures.map(toBind));
  const begun = new Set(claims.filter(({ by }) => by !== importer).map(toBind));
  const bound = [...begun].filter((bind) => !failed.has(bind)).length;
  return { bound, failed: failures.filter(({ at }) => at >= from && at < to).length };
}

function toBind({ instanceUuid, requestId }: Attempt): string {
  return `${instanceUuid} ${requestId}`;
}

export function hourAfter(hour: string): string {
  return new Date(Date.parse(hour) + hourMs).toISOString();
}

/** The starts of the hours that have a part of the range, the newest first. */
export function hoursBetween(from: string, to: string): string[] {
  const hours: string[] = [];
  const first = Math.floor(Date.parse(from) / hourMs) * hourMs;
  for (let ms = first; ms < Date.parse(to); ms += hourMs) hours.push(new Date(ms).toISOString());
  return hours.reverse();
}
