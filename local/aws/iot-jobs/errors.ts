// What can be wrong with a request, whichever way it came: the control plane's clients know it as an
// exception over HTTP, a device as a code over MQTT.

import type { Execution } from './lifecycle.ts';

/** Codes as devices get them; the last four cannot happen to a device. */
export type JobsErrorCode =
  | 'InvalidTopic'
  | 'InvalidJson'
  | 'InvalidRequest'
  | 'InvalidStateTransition'
  | 'ResourceNotFound'
  | 'VersionMismatch'
  | 'TerminalStateReached'
  | 'ResourceAlreadyExists'
  | 'Throttling'
  | 'CertificateState'
  | 'DeleteConflict';

/** The caller's fault. Anything else that is thrown is ours. */
export class JobsError extends Error {
  override readonly name = 'JobsError';
  readonly code: JobsErrorCode;
  /** How the execution is, where that explains the refusal. */
  readonly execution: Execution | undefined;

  constructor(code: JobsErrorCode, message: string, execution?: Execution) {
    super(message);
    this.code = code;
    this.execution = execution;
  }
}
