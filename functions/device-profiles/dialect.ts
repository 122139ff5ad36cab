// Two worlds speak to these routes. The device profile specification sends one object, deletes by
// `?name=`, and knows 204 and 422; deployed Cyborg sends a list, deletes by path or `?value=`, and
// knows 201, 400, 404 and 409. The form of a request says which of the two it comes from.

import { DomainError } from '#core/domain/errors.ts';
import { HttpFault } from '../http/faults.ts';

const unprocessable = 422;

/** What the specification answers to input that it cannot process, whatever the fault. */
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
