// These routes have two dialects. The device profile specification sends one object, deletes by
// `?name=`, and expects 204 and 422. Deployed Cyborg sends a list, deletes by path or `?value=`,
// and expects 201, 400, 404 and 409. The form of a request shows its dialect.

import { DomainError } from '#core/domain/errors.ts';
import { HttpFault } from '#functions/http/faults.ts';

const unprocessable = 422;

/** The specification's status for all input that cannot be processed. */
export async function bySpecification<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw new HttpFault(unprocessable, error.message);
  }
}

export function noneExist(sentence: string): HttpFault {
  return new HttpFault(unprocessable, sentence);
}
