// Errors of the operator's API. A conflict says how things are now, so that the operator need not
// ask again.

import { DomainError } from './errors.ts';

export class HostNotFound extends DomainError {
  constructor(hostname: string) {
    const sentence = `Host ${hostname} not found: no agent has connected or reported under this name.`;
    super('not-found', 'cyborg.host.not_found', sentence);
  }
}

export class ServersHidden extends DomainError {
  constructor() {
    const sentence =
      'Nova shows our user no server of another project, so that its answer "not found" proves nothing. ' +
      'Give the service user a role that reads all servers, and ask again.';
    super('conflict', 'cyborg.reaper.blind', sentence);
  }
}

export class HostIsBack extends DomainError {
  constructor(hostname: string, state: string, since: string | undefined) {
    const sentence =
      `Host ${hostname} cannot be forgotten: it is ${state}${since ? ` since ${since}` : ''}. ` +
      'Stop its agent, and ask again when the host is away.';
    super('conflict', 'cyborg.host.not_away', sentence);
  }
}

export class HostInUse extends DomainError {
  constructor(hostname: string, claims: number, instances: readonly string[]) {
    const sentence =
      `Host ${hostname} cannot be forgotten: ${claims} of its attach handles belong to instances ` +
      `${instances.join(', ')}. Delete or evacuate them first.`;
    super('conflict', 'cyborg.host.in_use', sentence);
  }
}

export class HostIsBusy extends DomainError {
  constructor(hostname: string) {
    const sentence = `Host ${hostname} is being changed now, by a report or by another request. Ask again.`;
    super('conflict', 'cyborg.host.busy', sentence);
  }
}

export class HostNotDrained extends DomainError {
  constructor(hostname: string, enabled: number, maintaining: number) {
    const sentence =
      `Host ${hostname} is not drained: ${enabled} of its devices are enabled, and ${maintaining} ` +
      'are disabled by changes of their own.';
    super('conflict', 'cyborg.host.not_drained', sentence);
  }
}

export class HostUnreachable extends DomainError {
  constructor(hostname: string, state: string, since: string | undefined) {
    const sentence = `Host ${hostname} cannot be asked: it is ${state}${since ? ` since ${since}` : ''}.`;
    super('conflict', 'cyborg.host.unreachable', sentence);
  }
}

export class ResetRefused extends DomainError {
  constructor(deviceUuid: string, why: string) {
    const sentence = `Device ${deviceUuid} cannot be reset now: ${why}.`;
    super('conflict', 'cyborg.device.reset_refused', sentence);
  }
}

export class BaselineNotFound extends DomainError {
  constructor(model: string, component: string) {
    super('not-found', 'cyborg.baseline.not_found', `${component} of ${model} has no baseline.`);
  }
}

export class HoldNotFound extends DomainError {
  constructor(id: string) {
    super('not-found', 'cyborg.hold.not_found', `There is no hold ${id}.`);
  }
}

/** The message says why. */
export class ConflictStays extends DomainError {
  constructor(message: string) {
    super('conflict', 'cyborg.host.conflict_stays', message);
  }
}
