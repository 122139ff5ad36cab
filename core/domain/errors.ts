// Errors that a caller can cause. Each has a sentence for people and a code for programs;
// functions/http/faults.ts maps each kind to a status. Any other exception answers 500.

/** The kind of error, which decides the status. */
export type FaultKind =
  /** The same request can never succeed. */
  | 'invalid'
  /** The object does not exist, or the caller may not see it. */
  | 'not-found'
  /** The request is valid, but the current state forbids it. */
  | 'conflict'
  /** The object has changed since the caller read it. */
  | 'stale'
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
    const sentence = `Device profile ${nameOrUuid} not found.`;
    super('not-found', 'cyborg.device_profile.not_found', sentence);
  }
}

export class DeviceProfileExists extends DomainError {
  constructor(field: 'name' | 'uuid', value: string) {
    const sentence = `A device profile with ${field} ${value} exists.`;
    super('conflict', 'cyborg.device_profile.exists', sentence);
  }
}

export class DeviceProfileDisabled extends DomainError {
  constructor(name: string, reason: string) {
    const sentence = `Device profile ${name} is disabled: ${reason}`;
    super('conflict', 'cyborg.device_profile.disabled', sentence);
  }
}

export class DeviceProfileStale extends DomainError {
  constructor(name: string, revision: number) {
    const sentence = `Device profile ${name} has revision ${revision} now: read it again.`;
    super('stale', 'cyborg.device_profile.stale', sentence);
  }
}

export class DeviceProfileInUse extends DomainError {
  constructor(name: string) {
    const sentence = `Device profile ${name} is used by accelerator requests.`;
    super('conflict', 'cyborg.device_profile.in_use', sentence);
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
    const sentence = `Accelerator request ${uuid} is ${state} and cannot become ${next}.`;
    super('conflict', 'cyborg.arq.state_conflict', sentence);
  }
}

/** Begins with deployed Cyborg's sentence, and has its status. */
export class InstanceAlreadyBound extends DomainError {
  constructor(instanceUuid: string, hostname: string) {
    const sentence =
      `Instance ${instanceUuid} already has accelerator requests. Cannot append a new one to it. ` +
      `They are bound on host ${hostname}, and can be replaced only while Nova has the instance on no host.`;
    super('invalid', 'cyborg.instance.already_bound', sentence);
  }
}

export class ProviderNotFound extends DomainError {
  constructor(providerUuid: string) {
    const sentence = `Deployable not found with resource provider uuid ${providerUuid}.`;
    super('not-found', 'cyborg.deployable.not_found', sentence);
  }
}

export class NoFreeHandle extends DomainError {
  /** @param same the place that all of them must have in common */
  constructor(providerUuid: string, requested: number, same?: string) {
    const together = same ? `, all of one ${same}` : '';
    const sentence = `Resource provider ${providerUuid} has fewer than ${requested} free attach handles${together}.`;
    super('conflict', 'cyborg.attach_handle.none_free', sentence);
  }
}

export class BindTargetMismatch extends DomainError {
  constructor(sentence: string) {
    super('invalid', 'cyborg.bind.target_mismatch', sentence);
  }
}

export class DeviceDisabled extends DomainError {
  constructor(deviceUuid: string) {
    super('conflict', 'cyborg.device.disabled', `Device ${deviceUuid} is disabled.`);
  }
}

export class DeviceOnHold extends DomainError {
  constructor(deviceUuid: string) {
    super('conflict', 'cyborg.device.on_hold', `Device ${deviceUuid} is on hold: no new binds.`);
  }
}

export class DeviceUnhealthy extends DomainError {
  /** @param reason a clause, as the host's driver says it */
  constructor(deviceUuid: string, reason: string) {
    super('conflict', 'cyborg.device.unhealthy', `Device ${deviceUuid} ${reason}.`);
  }
}

export class DeviceOfferedTwice extends DomainError {
  /** @param other the name of the other service */
  constructor(deviceUuid: string, other: string) {
    const sentence = `Device ${deviceUuid} is offered by ${other}, too: it accepts no bind until only one of the two offers it.`;
    super('conflict', 'cyborg.device.offered_twice', sentence);
  }
}

export class CleaningImpossible extends DomainError {
  constructor(deviceUuid: string, cause: string) {
    const sentence =
      `Device ${deviceUuid} cannot be cleaned by its host: ${cause}. ` +
      'If you have cleaned the device, send {"cleaned": true}.';
    super('conflict', 'cyborg.device.cleaning_impossible', sentence);
  }
}

export class BindFailedForInstance extends DomainError {
  constructor(instanceUuid: string, reason: string) {
    const sentence = `Binding accelerators to instance ${instanceUuid} failed: ${reason}`;
    super('conflict', 'cyborg.bind.failed', sentence);
  }
}

/** Nova takes any list for ready, and would start the server without the device. */
export class NotReadyOnHost extends DomainError {
  constructor(instanceUuid: string, state: 'provisioning' | 'unknown', hostname: string) {
    const reason =
      state === 'provisioning'
        ? 'has rebooted and prepares them again'
        : 'is not connected and may have rebooted';
    const sentence = `The accelerators of instance ${instanceUuid} are not ready: host ${hostname} ${reason}. Try again.`;
    super('conflict', 'cyborg.instance.not_ready', sentence);
  }
}

export class BindsUnresolved extends DomainError {
  constructor(instanceUuid: string) {
    const sentence = `Not all accelerator requests of instance ${instanceUuid} are resolved.`;
    super('locked', 'cyborg.bind.unresolved', sentence);
  }
}

export class DeviceNotFound extends DomainError {
  constructor(uuid: string) {
    super('not-found', 'cyborg.device.not_found', `Device ${uuid} not found.`);
  }
}

export class DeployableInUse extends DomainError {
  constructor(uuid: string) {
    const sentence = `Deployable ${uuid} cannot be programmed now: it is in use, being cleaned or being programmed.`;
    super('conflict', 'cyborg.deployable.in_use', sentence);
  }
}

export class DeviceInUse extends DomainError {
  constructor(uuid: string, why: string) {
    super('conflict', 'cyborg.device.in_use', `Device ${uuid} cannot be programmed now: ${why}.`);
  }
}

export class ProgramUnderWay extends DomainError {
  constructor(deviceUuid: string, why: string) {
    const sentence = `The program of device ${deviceUuid} cannot be given up now: ${why}.`;
    super('conflict', 'cyborg.device.program_under_way', sentence);
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
    const sentence = `Attribute ${uuid} cannot be deleted: it is reported by the device's host.`;
    super('conflict', 'cyborg.attribute.reported', sentence);
  }
}

export class TooManyAttributes extends DomainError {
  constructor(deployableUuid: string, max: number) {
    const sentence = `Deployable ${deployableUuid} already has ${max} added attributes, the maximum.`;
    super('conflict', 'cyborg.attribute.too_many', sentence);
  }
}

export class TooManyUnbound extends DomainError {
  constructor(unbound: { count: number; requested: number; max: number; minutes: number }) {
    const sentence =
      `The project has ${unbound.count} accelerator requests that are bound to no instance and asks for ${unbound.requested} more; ` +
      `at most ${unbound.max} are allowed. Delete some, or wait: each is deleted ${unbound.minutes} minutes after its creation.`;
    super('forbidden', 'cyborg.arq.too_many_unbound', sentence);
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
