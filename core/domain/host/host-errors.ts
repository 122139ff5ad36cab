// Refusals that follow from the state of a host.

import { DomainError } from '#core/domain/errors.ts';
import type { StoredHost } from './host.ts';
import type { FailedJobs } from './host-pause.ts';

export class AgentAway extends DomainError {
  constructor(hostname: string, since: string | undefined) {
    const away = `is not connected${since ? ` since ${since}` : ''}`;
    const sentence = `The agent of host ${hostname} ${away}; the device cannot be made ready.`;
    super('conflict', 'cyborg.host.agent_away', sentence);
  }
}

export class HostPaused extends DomainError {
  constructor(hostname: string, { count, reason }: FailedJobs, until: string) {
    const sentence =
      `Host ${hostname} has failed its last ${count} jobs (the last: ${reason}); ` +
      `it accepts no bind that needs host work until ${until}, or until a job succeeds.`;
    super('conflict', 'cyborg.host.paused', sentence);
  }
}

export class HostInConflict extends DomainError {
  constructor(hostname: string) {
    const sentence = `Two agents report as host ${hostname}: it accepts no bind until an operator ends the conflict.`;
    super('conflict', 'cyborg.host.in_conflict', sentence);
  }
}

class HostRevoked extends DomainError {
  constructor(hostname: string) {
    const sentence = `Host ${hostname} was revoked: it accepts no bind until it is enrolled again.`;
    super('conflict', 'cyborg.host.revoked', sentence);
  }
}

/** The refusal of a bind on a host that is not trusted; undefined for one that is. */
export function refusalOfMistrusted(host: StoredHost): DomainError | undefined {
  if (host.revokedAt !== undefined) return new HostRevoked(host.hostname);
  return host.conflict && new HostInConflict(host.hostname);
}
