// Work messages: short work that the control plane sends to a connected host without a job of AWS
// IoT. A message that is lost or late does no harm: a job with the same id follows.

import { workEndTopic, workTopic } from '#core/contracts/topics.ts';
import { type WorkMessage, workMessage } from '#core/contracts/work-message.ts';
import { sentExecution } from './checkpoint.ts';
import type { Clock } from './clock.ts';
import { detailsOf, type Execution } from './job-execution.ts';
import { type Log, reasonOf } from './log.ts';
import type { Session } from './mqtt.ts';

export interface WorkMessagesDeps {
  readonly stage: string;
  readonly thing: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** @param onWork called with each message that is still valid */
export function takeWorkMessages(
  session: Session,
  { stage, thing, clock, log }: WorkMessagesDeps,
  onWork: (message: WorkMessage) => void,
): void {
  const ownTopic = workTopic(stage, thing);
  session.onMessage((topic, payload) => {
    if (topic !== ownTopic) return;
    const read = workMessage.safeParse(parsed(payload));
    if (!read.success) {
      log.warn('Work message unreadable', { reason: read.error.message });
    } else if (Date.parse(read.data.valid_until) <= clock.wallMs()) {
      log.warn('Work message too late', { job: read.data.job_id });
    } else onWork(read.data);
  });
  session.subscribe([ownTopic]).catch((error: unknown) => {
    if (session.lost.aborted) return;
    // The control plane then waits for its answer in vain, and creates jobs.
    log.warn('Work messages not subscribed', { reason: reasonOf(error) });
  });
}

/**
 * The execution of a message: nothing but its answer is sent.
 *
 * @param sessionNow the current connection, if there is one
 */
export function holdMessage(
  { stage, thing }: Pick<WorkMessagesDeps, 'stage' | 'thing'>,
  jobId: string,
  sessionNow: () => Session | undefined,
): Execution {
  return {
    jobId,
    identity: sentExecution,
    update: async () => true,
    answer: async (outcome) => {
      const session = sessionNow();
      if (!session) throw new Error('not connected');
      const answer = { job_id: jobId, status: outcome.status, details: detailsOf(outcome) };
      await session.publish(workEndTopic(stage, thing), JSON.stringify(answer));
      return true;
    },
  };
}

function parsed(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString());
  } catch {
    return undefined;
  }
}
