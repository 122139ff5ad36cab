// The end of a job, or the answer to a work message, as the workflows read it.

import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { JobEvent } from '#core/contracts/jobs/job-document.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { mistrustOf } from '#core/domain/host/trust.ts';
import { timeNow } from '../time-now.ts';

/** What is read of it. */
export type EndOfJob = Pick<JobEvent, 'operation' | 'jobId'> &
  Partial<JobEvent> & {
    /** The host that answered; AWS IoT itself vouches for the end of a job. */
    readonly answeredBy?: string;
  };

/** A host may end its own work only. */
export function isOfAnotherHost(
  deps: ConsumerDeps,
  { hostname }: { readonly hostname: string },
  { answeredBy, jobId }: EndOfJob,
): boolean {
  if (answeredBy === undefined || answeredBy === hostname) return false;
  deps.log.warn('Answer of another host ignored', { job: jobId, host: hostname, answeredBy });
  return true;
}

/** Counts a failure of the host; a job that failed for what it asked is none. */
export async function noteFailure(
  deps: ConsumerDeps,
  host: StoredHost,
  event: EndOfJob,
  count: 0 | 1,
): Promise<void> {
  if (event.operation !== 'failed' || event.statusDetails?.fault === 'request') return;
  const now = timeNow(deps);
  await deps.store.inventory.noteFailure(host, {
    count,
    reason: failureReason(event),
    lastAt: now,
  });
}

/** Why the answer proves nothing; undefined for that of a host that is trusted. */
export function mistrustReason(host: StoredHost): string | undefined {
  const mistrust = mistrustOf(host);
  return mistrust && `${mistrust.charAt(0).toUpperCase()}${mistrust.slice(1)}.`;
}

export function failureReason({ operation, statusDetails }: EndOfJob): string {
  return statusDetails?.reason ?? `The host's job ended ${operation}.`;
}
