// The table of errors and their statuses, and Cyborg's envelope around the sentence.

import { ServiceUnavailable } from '#core/clients/http.ts';
import { DomainError, type FaultKind } from '#core/domain/errors.ts';
import { DatabaseUnavailable } from '#core/store/table/database-unavailable.ts';
import { MarkerNotFound } from '#core/store/table/marker-not-found.ts';

const statusByKind: Readonly<Record<FaultKind, number>> = {
  invalid: 400,
  forbidden: 403,
  'not-found': 404,
  'not-acceptable': 406,
  conflict: 409,
  stale: 412,
  locked: 423,
};

/** A fault of the HTTP exchange itself, or one to which a specification gives its own status. */
export class HttpFault extends Error {
  override readonly name = 'HttpFault';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, sentence: string, headers: Readonly<Record<string, string>> = {}) {
    super(sentence);
    this.status = status;
    this.headers = headers;
  }
}

export interface Fault {
  readonly status: number;
  readonly sentence: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The log line that has the error. */
  readonly event?: string;
}

/** Undefined for an unhandled exception. */
export function toFault(error: unknown): Fault | undefined {
  if (error instanceof HttpFault) {
    return { status: error.status, sentence: error.message, headers: error.headers };
  }
  if (error instanceof DomainError) {
    return { status: statusByKind[error.kind], sentence: error.message, headers: {} };
  }
  if (error instanceof MarkerNotFound) {
    return { status: 400, sentence: `Marker ${error.message} could not be found.`, headers: {} };
  }
  if (error instanceof ServiceUnavailable) {
    const sentence = `${error.service} cannot be asked right now.`;
    const retryAfter = String(error.retryAfterSeconds ?? 1);
    return { status: 503, sentence, headers: { 'Retry-After': retryAfter } };
  }
  if (error instanceof DatabaseUnavailable) {
    const sentence = 'DynamoDB cannot be asked right now.';
    const headers = { 'Retry-After': '1' };
    return { status: 503, sentence, headers, event: 'Database unavailable' };
  }
  return undefined;
}

/**
 * Cyborg's clients read the sentence from JSON inside JSON; the device profile specification has
 * it as `error`. Tempest expects the `error` of a 5xx to be an object, so a 5xx has none.
 */
export function faultBody(status: number, sentence: string): Record<string, unknown> {
  const faultcode = status < 500 ? 'Client' : 'Server';
  const fault = { faultcode, faultstring: sentence, debuginfo: null };
  return {
    error_message: JSON.stringify(fault),
    ...(status < 500 && { error: sentence }),
  };
}

/** The body of keystonemiddleware: clients recognize a refused token by it. */
export function tokenFaultBody(sentence: string): Record<string, unknown> {
  return { error: { code: 401, title: 'Unauthorized', message: sentence } };
}
