// The parts of the checks before a deployment.

import type { DeploymentSettings } from '#infra/settings.ts';
import type { Aws } from './aws-call.ts';

export interface CheckContext {
  readonly settings: DeploymentSettings;
  readonly aws: Aws;
  /** The operator's own options, `-c name=value`, as they are repeated in commands. */
  readonly options: string;
  /** What earlier checks have found. */
  readonly found: { account?: string; hasStack?: boolean; password?: string | undefined };
}

export interface Check {
  readonly name: string;
  /** For errors that the check does not explain itself. */
  readonly remedy: string;
  /** Returns what the check found. @throws CheckFailed, Undetermined, or any error */
  readonly look: (context: CheckContext) => Promise<string>;
}

/** The deployment would fail; the remedy is a command. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed';
  readonly remedy: string;

  constructor(message: string, remedy: string) {
    super(message);
    this.remedy = remedy;
  }
}

/** The check has no result from here. */
export class Undetermined extends Error {
  override readonly name = 'Undetermined';
}
