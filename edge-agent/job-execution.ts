// One execution of a job, as we tell the service of it: each change names the version it changes,
// so that neither we nor the control plane overwrite what the other has just said.

import type { JobOutcome } from './checkpoint.ts';
import type { JobExecution } from './jobs-messages.ts';
import type { JobsChannel, JobUpdate } from './jobs-protocol.ts';

/** AWS takes 1,024 characters, and none that control. */
const reasonLengthMax = 1024;

export interface Execution {
  readonly jobId: string;
  /** Tells it from other executions of the job, and from an earlier job of the same name. */
  readonly identity: string;
  /**
   * False if the job is over, which also aborts `cancelled`. @throws when the connection is lost
   */
  update(status: JobUpdate['status'], details: JobUpdate['statusDetails']): Promise<boolean>;
  /** Says how it ended, also through the next connection if that is there by then. */
  answer(outcome: JobOutcome): Promise<boolean>;
}

/** @param channelNow the connection's, if there is one */
export function holdExecution(
  { jobId, versionNumber, executionNumber, queuedAt }: JobExecution,
  channelNow: () => JobsChannel | undefined,
  cancelled: AbortController,
): Execution {
  let version = versionNumber;

  async function update(status: JobUpdate['status'], statusDetails: JobUpdate['statusDetails']) {
    for (;;) {
      const channel = channelNow();
      if (!channel) throw new Error('not connected');
      const change = { status, statusDetails, expectedVersion: version };
      const outcome = await channel.update(jobId, change);
      if (outcome.kind === 'over') {
        cancelled.abort();
        return false;
      }
      version = outcome.version;
      if (outcome.kind === 'taken') return true;
    }
  }

  async function answer(outcome: JobOutcome): Promise<boolean> {
    const { status, reason, fault, left } = outcome;
    const details = {
      ...(reason !== undefined && { reason: printable(reason) }),
      ...(fault && { fault }),
      ...(left && { left }),
    };
    for (;;) {
      const channel = channelNow();
      try {
        return await update(status, details);
      } catch (error) {
        // A connection that came meanwhile found this job being worked on, and left it to us.
        if (channelNow() === channel || channelNow() === undefined) throw error;
      }
    }
  }

  return { jobId, identity: `${executionNumber}@${queuedAt}`, update, answer };
}

function printable(reason: string): string {
  return reason.slice(0, reasonLengthMax).replaceAll(/\p{C}/gu, ' ') || 'unknown';
}
