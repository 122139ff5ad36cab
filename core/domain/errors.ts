// Errors that a caller can cause. Each has a sentence for people and a code for programs;
// functions/http/faults.ts maps each kind to a status. Any other exception answers 500.

import type { FailedJobs } from './host/host-pause.ts';

/** The kind of error, which decides the status. */
export type FaultKind =
  /** The same request can never succeed. */
  | 'invalid'
  /** The object does not exist, or the caller may not see it. */
  | 'not-found'
  /** The request is valid, but the current state forbids it. */
  | 'conflict'
  /** The caller may not do this. */
  | 'forbidden'
  /** The answer is available only after the binds have been resolved. */
  | 'locked'
  /** The microversion does not have this request. */
  | 'not-acceptable';

export class DomainError extends Error {
  readonly kind: FaultKind;
  /** Stable: clients may depend on it. */
  readonly code: string;

  constructor(kind: FaultKind, code: string, sentence: string) {
    super(sentence);
    this.name = new.target.name;
    this.kind = kind;
    this.code = code;
  }
}

export class InvalidInput extends DomainError {
  constructor(sentence: string, code = 'cyborg.input.invalid') {
    super('invalid', code, sentence);
  }
}

export class Forbidden extends DomainError {
  constructor(sentence: string, code = 'cyborg.policy.forbidden') {
    super('forbidden', code, sentence);
  }
}

export class NotAcceptable extends DomainError {
  constructor(sentence: string) {
    super('not-acceptable', 'cyborg.microversion.not_acceptable', sentence);
  }
}

export class DeviceProfileNotFound extends DomainError {
  constructor(nameOrUuid: string) {
    super(
      'not-found',
      'cyborg.device_profile.not_found',
      `Device profile ${nameOrUuid} not found.`,
    );
  }
}

export class DeviceProfileExists extends DomainError {
  constructor(field: 'name' | 'uuid', value: string) {
    super(
      'conflict',
      'cyborg.device_profile.exists',
      `A device profile with ${field} ${value} exists.`,
    );
  }
}

export class DeviceProfileInUse extends DomainError {
  constructor(name: string) {
    super(
      'conflict',
      'cyborg.device_profile.in_use',
      `Device profile ${name} is used by accelerator requests.`,
    );
  }
}

export class ArqNotFound extends DomainError {
  constructor(uuids: readonly string[]) {
    const listed = uuids.join(', ');
    super('not-found', 'cyborg.arq.not_found', `Accelerator request ${listed} not found.`);
  }
}

export class ArqStateConflict extends DomainError {
  constructor(uuid: string, state: string, next: string) {
    super(
      'conflict',
      'cyborg.arq.state_conflict',
      `Accelerator request ${uuid} is ${state} and cannot become ${next}.`,
    );
  }
}

/** Begins with deployed Cyborg's sentence, and has its status. */
export class InstanceAlreadyBound extends DomainError {
  constructor(instanceUuid: string, hostname: string) {
    super(
      'invalid',
      'cyborg.instance.already_bound',
      `Instance ${instanceUuid} already has accelerator requests. Cannot append a new one to it. ` +
        `They are bound on host ${hostname}, and can be replaced only while Nova has the instance on no host.`,
    );
  }
}

export class ProviderNotFound extends DomainError {
  constructor(providerUuid: string) {
    super(
      'not-found',
      'cyborg.deployable.not_found',
      `Deployable not found with resource provider uuid ${providerUuid}.`,
    );
  }
}

export class NoFreeHandle extends DomainError {
  constructor(providerUuid: string, requested: number) {
    super(
      'conflict',
      'cyborg.attach_handle.none_free',
      `Resource provider ${providerUuid} has fewer than ${requested} free attach handles.`,
    );
  }
}

export class BindTargetMismatch extends DomainError {
  constructor(sentence: string) {
    super('invalid', 'cyborg.bind.target_mismatch', sentence);
  }
}

export class DeviceDisabled extends DomainError {
  constructor(deviceUuid: string) {
    super('conflict', 'cyborg.device.disabled', `Device ${deviceUuid} is under maintenance.`);
  }
}

export class DeviceUnhealthy extends DomainError {
  /** @param reason a clause, as the host's driver says it */
  constructor(deviceUuid: string, reason: string) {
    super('conflict', 'cyborg.device.unhealthy', `Device ${deviceUuid} ${reason}.`);
  }
}

export class AgentAway extends DomainError {
  constructor(hostname: string, since: string | undefined) {
    super(
      'conflict',
      'cyborg.host.agent_away',
      `The agent of host ${hostname} is not connected${since ? ` since ${since}` : ''}; the device cannot be made ready.`,
    );
  }
}

export class HostPaused extends DomainError {
  constructor(hostname: string, { count, reason }: FailedJobs, until: string) {
    super(
      'conflict',
      'cyborg.host.paused',
      `Host ${hostname} has failed its last ${count} jobs (the last: ${reason}); it accepts no bind that needs host work until ${until}, or until a job succeeds.`,
    );
  }
}

export class HostInConflict extends DomainError {
  constructor(hostname: string) {
    super(
      'conflict',
      'cyborg.host.in_conflict',
      `Two agents report as host ${hostname}: it accepts no bind until an operator ends the conflict.`,
    );
  }
}

export class CleaningImpossible extends DomainError {
  constructor(deviceUuid: string, cause: string) {
    super(
      'conflict',
      'cyborg.device.cleaning_impossible',
      `Device ${deviceUuid} cannot be cleaned by its host: ${cause}. If you have cleaned the device, send {"cleaned": true}.`,
    );
  }
}

export class BindFailedForInstance extends DomainError {
  constructor(instanceUuid: string, reason: string) {
    super(
      'conflict',
      'cyborg.bind.failed',
      `Binding accelerators to instance ${instanceUuid} failed: ${reason}`,
    );
  }
}

export class BindsUnresolved extends DomainError {
  constructor(instanceUuid: string) {
    super(
      'locked',
      'cyborg.bind.unresolved',
      `Not all accelerator requests of instance ${instanceUuid} are resolved.`,
    );
  }
}

export class DeviceNotFound extends DomainError {
  constructor(uuid: string) {
    super('not-found', 'cyborg.device.not_found', `Device ${uuid} not found.`);
  }
}

export class DeployableInUse extends DomainError {
  constructor(uuid: string) {
    super(
      'conflict',
      'cyborg.deployable.in_use',
      `Deployable ${uuid} cannot be programmed now: it is in use, being cleaned or being programmed.`,
    );
  }
}

export class DeployableNotFound extends DomainError {
  constructor(uuid: string) {
    super('not-found', 'cyborg.deployable.not_found', `Deployable ${uuid} not found.`);
  }
}

export class AttributeNotFound extends DomainError {
  constructor(uuid: string) {
    super('not-found', 'cyborg.attribute.not_found', `Attribute ${uuid} not found.`);
  }
}

export class AttributeIsReported extends DomainError {
  constructor(uuid: string) {
    super(
      'conflict',
      'cyborg.attribute.reported',
      `Attribute ${uuid} cannot be deleted: it is reported by the device's host.`,
    );
  }
}

export class TooManyAttributes extends DomainError {
  constructor(deployableUuid: string, max: number) {
    super(
      'conflict',
      'cyborg.attribute.too_many',
      `Deployable ${deployableUuid} already has ${max} added attributes, the maximum.`,
    );
  }
}

export class TooManyUnbound extends DomainError {
  constructor(unbound: { count: number; requested: number; max: number; minutes: number }) {
    super(
      'forbidden',
      'cyborg.arq.too_many_unbound',
      `The project has ${unbound.count} accelerator requests that are bound to no instance and asks for ${unbound.requested} more; ` +
        `at most ${unbound.max} are allowed. Delete some, or wait: each is deleted ${unbound.minutes} minutes after its creation.`,
    );
  }
}

export class ImageNotFound extends DomainError {
  constructor(sentence: string) {
    super('not-found', 'cyborg.image.not_found', sentence);
  }
}

/** The image exists, but its state forbids its use. */
export class ImageConflict extends DomainError {
  constructor(sentence: string) {
    super('conflict', 'cyborg.image.unusable', sentence);
  }
}
