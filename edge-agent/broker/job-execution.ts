// One execution of a job. Each update names the version that it changes, so that neither the
// agent nor the control plane overwrites the other's update.

import type { JobOutcome } from '#agent/state/checkpoint-state.ts';
import { evidenceDetails, type JobStatusDetails } from '#core/contracts/jobs/job-document.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { JobExecution } from './jobs-messages.ts';
import type { JobsChannel, JobUpdate } from './jobs-protocol.ts';

/** AWS takes at most 1,024 characters and no control characters. */
const detailLengthMax = 1024;

export interface Execution {
  readonly jobId: string;
  /** Distinguishes executions of the job, and jobs with the same name. */
  readonly identity: string;
  /**
   * False if the job has ended, which also aborts `cancelled`. @throws when the connection is
   * lost
   */
  update(status: JobUpdate['status'], details: JobUpdate['statusDetails']): Promise<boolean>;
  /** Sends the outcome, if necessary through the next connection. */
  answer(outcome: JobOutcome): Promise<boolean>;
}

/** @param channelNow the channel of the current connection, if there is one */
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
    const details = toStatusDetails(outcome);
    for (;;) {
      const channel = channelNow();
      try {
        return await update(outcome.status, details);
      } catch (error) {
        // A new connection skipped this job, because it was still running here.
        if (channelNow() === channel || channelNow() === undefined) throw error;
      }
    }
  }

  return { jobId, identity: `${executionNumber}@${queuedAt}`, update, answer };
}

/** The outcome as status details. */
export function toStatusDetails(outcome: JobOutcome): JobStatusDetails {
  const { reason, fault, left, awaits, prepared, evidence } = outcome;
  return {
    ...(reason !== undefined && { reason: printable(reason) }),
    ...present({ fault, left, awaits }),
    ...(prepared && { prepared: fittingJson(prepared) }),
    ...(evidence && toEvidenceDetails(evidence)),
  };
}

/** A server of eight cards has the evidence of eight handles, which takes several details. */
function toEvidenceDetails(evidence: Readonly<Record<string, unknown>>): Partial<JobStatusDetails> {
  const details: Partial<Record<(typeof evidenceDetails)[number], string>> = {};
  let left = evidence;
  for (const name of evidenceDetails) {
    const text = fittingJson(left);
    if (text === '{}' && name !== 'evidence') break;
    details[name] = text;
    const sent = JSON.parse(text) as Readonly<Record<string, unknown>>;
    left = Object.fromEntries(Object.entries(left).filter(([key]) => !Object.hasOwn(sent, key)));
  }
  return details;
}

/** JSON of as many entries as fit. */
function fittingJson(entries: Readonly<Record<string, unknown>>): string {
  let text = '{}';
  const fitting: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(entries)) {
    fitting[name] = value;
    const longer = JSON.stringify(fitting).replaceAll(/\p{C}/gu, ' ');
    if (longer.length > detailLengthMax) break;
    text = longer;
  }
  return text;
}

function printable(reason: string): string {
  return reason.slice(0, detailLengthMax).replaceAll(/\p{C}/gu, ' ') || 'unknown';
}
