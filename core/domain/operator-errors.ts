// Errors of the operator's API. A conflict says how things are now, so that the operator need not
// ask again.

import { DomainError } from './errors.ts';

export class HostNotFound extends DomainError {
  constructor(hostname: string) {
    super(
      'not-found',
      'cyborg.host.not_found',
      `Host ${hostname} not found: no agent has connected or reported under this name.`,
    );
  }
}
