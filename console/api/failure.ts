// A failed request, with the API's own sentence where the answer has one.

import { parseJson } from '#core/shapes/derive/parse-json.ts';

type FailureKind =
  /** There was no answer. */
  | 'unreachable'
  /** The API, or a service that it needs, cannot answer for the moment. */
  | 'unavailable'
  | 'signed-out'
  | 'forbidden'
  | 'not-found'
  /** It moved meanwhile, or is in a state that does not allow the request. */
  | 'conflict'
  | 'refused';

export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';
  readonly kind: FailureKind;
  readonly status: number | undefined;

  constructor(kind: FailureKind, sentence: string, status?: number) {
    super(sentence);
    this.kind = kind;
    this.status = status;
  }

  /** The same request may succeed a little later. */
  get isPassing(): boolean {
    return this.kind === 'unreachable' || this.kind === 'unavailable';
  }
}

export function toFailure(status: number, body: unknown): ApiFailure {
  const sentence = readSentence(body) ?? `The API answered with status ${status}.`;
  return new ApiFailure(classify(status), sentence, status);
}

export function asFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  return new ApiFailure('refused', error instanceof Error ? error.message : String(error));
}

function classify(status: number): FailureKind {
  if (status === 401) return 'signed-out';
  if (status === 403) return 'forbidden';
  if (status === 404) return 'not-found';
  if (status === 409 || status === 423) return 'conflict';
  return status === 429 || status >= 500 ? 'unavailable' : 'refused';
}

/** `error` is a sentence, or an object in Keystone's form; `error_message` is JSON inside JSON. */
function readSentence(body: unknown): string | undefined {
  if (!isRecord(body)) return undefined;
  const { error, error_message: faultText } = body;
  if (typeof error === 'string') return error;
  if (isRecord(error) && typeof error.message === 'string') return error.message;
  if (typeof faultText !== 'string') return undefined;
  const fault = parseJson(faultText);
  return isRecord(fault) && typeof fault.faultstring === 'string' ? fault.faultstring : faultText;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
