// What the checks before a deployment look at.

import type { Aws } from '#core/clients/aws/call.ts';
import type { Check as AnyCheck } from '#core/command-line/checks.ts';
import type { DeploymentSettings } from '#infra/settings/settings.ts';

export interface CheckContext {
  readonly settings: DeploymentSettings;
  readonly aws: Aws;
  /** The operator's own options, `-c name=value`, as they are repeated in commands. */
  readonly options: string;
  /** What earlier checks have found. */
  readonly facts: { account?: string; hasStack?: boolean; password?: string | undefined };
}

export type Check = AnyCheck<CheckContext>;
