// Work messages: short work that the control plane sends to a connected host without a job of AWS
// IoT. A message that is lost or late does no harm: a job with the same id follows.

import type { Clock } from '#agent/clock.ts';
import type { CloudClock } from '#agent/cloud-clock.ts';
import { type Log, reasonOf } from '#agent/log.ts';
import { sentExecution } from '#agent/state/checkpoint-state.ts';
import {
  type CardsMessage,
  cardsMessage,
  type WorkMessage,
  workMessage,
} from '#core/contracts/jobs/work-message.ts';
import { workEndTopic, workTopic } from '#core/contracts/topics.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { type Execution, toStatusDetails } from './job-execution.ts';
import type { Session } from './mqtt.ts';

interface WorkMessagesDeps {
  readonly stage: string;
  readonly thing: string;
  readonly clock: Clock;
  readonly log: Log;
  /** The control plane's time, by which messages end. */
  readonly cloudClock: CloudClock;
  readonly onCards?: (message: CardsMessage) => void;
}

/** The control plane sends a job for what does not fit. */
const heldMax = 64;

/**
 * The broker keeps messages for a host that is not connected, so some are old. They wait until the
 * control plane's time is known, whatever the host's clock says.
 *
 * @param onWork called with each message that is still valid
 * @returns judges messages that wait; by the host's clock if the control plane sends no time
 */
export function takeWorkMessages(
  session: Session,
  { stage, thing, clock, log, cloudClock, onCards }: WorkMessagesDeps,
  onWork: (message: WorkMessage) => void,
): () => void {
  const ownTopic = workTopic(stage, thing);
  const held: WorkMessage[] = [];
  let mayHold = true;
  const judge = (message: WorkMessage) => {
    const nowMs = cloudClock.nowMs();
    if (nowMs === undefined && mayHold && held.length < heldMax) held.push(message);
    else if (Date.parse(message.valid_until) <= (nowMs ?? clock.wallMs())) {
      log.warn('Work message too late', { job: message.job_id });
    } else onWork(message);
  };
  session.onMessage((topic, payload) => {
    if (topic !== ownTopic) return;
    const json = parseJson(payload.toString());
    const cards = cardsMessage.safeParse(json);
    if (cards.success) {
      onCards?.(cards.data);
      return;
    }
    const read = workMessage.safeParse(json);
    if (!read.success) {
      log.warn('Work message unreadable', { reason: read.error.message });
    } else judge(read.data);
  });
  session.subscribe([ownTopic]).catch((error: unknown) => {
    if (session.lost.aborted) return;
    // The control plane then waits for its answer in vain, and creates jobs.
    log.warn('Work messages not subscribed', { reason: reasonOf(error) });
  });
  return () => {
    mayHold = false;
    for (const message of held.splice(0)) judge(message);
  };
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
      const answer = { job_id: jobId, status: outcome.status, details: toStatusDetails(outcome) };
      await session.publish(workEndTopic(stage, thing), JSON.stringify(answer));
      return true;
    },
  };
}
