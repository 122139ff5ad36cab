// The errors of AWS IoT Jobs. A client of the control plane gets an error as an exception over
// HTTP, a device as a code over MQTT.

import type { Execution } from './store/lifecycle.ts';

/** The codes that devices get. The last four concern the control plane only. */
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

/** An error of the caller. Every other error is the fake's own. */
export class JobsError extends Error {
  override readonly name = 'JobsError';
  readonly code: JobsErrorCode;
  /** The state of the execution, if it explains the error. */
  readonly execution: Execution | undefined;

  constructor(code: JobsErrorCode, message: string, execution?: Execution) {
    super(message);
    this.code = code;
    this.execution = execution;
  }
}
