// When DynamoDB is away, throttles or does not answer in time. In a file of its own, as
// marker-not-found.ts.

import { isOutage } from '#core/domain/service-outage.ts';

/** The same call can succeed later; a write may have been done. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';

  constructor(cause: Error) {
    super(`DynamoDB is unavailable: ${cause.name}: ${cause.message}`, { cause });
  }
}

/** DatabaseUnavailable for what passes by itself; any other error as it is. */
export function nameOutage(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable || !isOutage(error)) return error;
  return new DatabaseUnavailable(error);
}
