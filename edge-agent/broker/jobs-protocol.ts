// AWS IoT Jobs over MQTT, the device side: lists pending jobs, reads their documents and updates
// their state. Answers are matched to requests by a token; a message without a request is a
// notification.
// https://docs.aws.amazon.com/iot/latest/developerguide/jobs-mqtt-api.html

import { randomUUID } from 'node:crypto';
import { backoffMs } from '#agent/backoff.ts';
import type { Clock } from '#agent/clock.ts';
import { type Log, reasonOf } from '#agent/log.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import {
  accepted,
  isJobId,
  type JobExecution,
  type JobStatus,
  type PendingJob,
  parsePending,
  parseTime,
  type Rejected,
  rejected,
} from './jobs-messages.ts';
import type { Session } from './mqtt.ts';

const answerMsMax = 10_000;

/** A retry does not help with these codes: the request itself is invalid. */
const lastingCodes = new Set(['InvalidTopic', 'InvalidJson', 'InvalidRequest']);

/** AWS reports nothing more about a job that has ended. */
const absentCodes = new Set(['ResourceNotFound', 'TerminalStateReached']);

export interface JobUpdate {
  readonly status: 'IN_PROGRESS' | 'SUCCEEDED' | 'FAILED' | 'REJECTED';
  readonly statusDetails: Readonly<Record<string, string>>;
  /** The version that the update changes. */
  readonly expectedVersion: number;
}

/**
 * `taken`: the execution now has this version. `changed`: another update came first, nothing was
 * written. `over`: the execution has ended, was cancelled or is deleted; no work is left.
 */
type UpdateOutcome =
  | { readonly kind: 'taken' | 'changed'; readonly version: number }
  | { readonly kind: 'over' };

/** All reject when the connection is lost, or when AWS refuses the request as invalid. */
export interface JobsChannel {
  /** In progress before queued, older before newer; at most ten at a time. */
  pending(): Promise<readonly PendingJob[]>;
  /** Undefined if this host has no such job, or the job has ended. */
  describe(jobId: string): Promise<JobExecution | undefined>;
  update(jobId: string, update: JobUpdate): Promise<UpdateOutcome>;
}

export interface JobsDeps {
  readonly thing: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  /** Called with the time of each answer, in seconds. */
  readonly onTime?: (seconds: number, askedMs: number) => void;
}

type Answer = { readonly accepted: unknown } | { readonly rejected: Rejected };

/** @param onPending called with the pending jobs whenever they change */
export async function openJobs(
  session: Session,
  { thing, clock, random, log, onTime = () => {} }: JobsDeps,
  onPending: (jobs: readonly PendingJob[]) => void,
): Promise<JobsChannel> {
  const root = `$aws/things/${thing}/jobs`;
  const waiting = new Map<string, (answer: Answer) => void>();

  session.onMessage((topic, payload) => {
    // Messages of other things cannot arrive here; if one does, it is ignored.
    if (!topic.startsWith(`${root}/`)) return;
    const name = topic.slice(root.length + 1);
    const message = parseJson(payload.toString());
    if (name === 'notify') return onPending(parsePending(message) ?? []);
    const token = readToken(message);
    const answer = name.endsWith('/accepted')
      ? { accepted: message }
      : { rejected: rejected.parse(message) };
    if (token !== undefined) waiting.get(token)?.(answer);
  });
  // Not `notify-next`: it names the first job only, and each message is charged.
  const filters = [
    `${root}/notify`,
    `${root}/get/accepted`,
    `${root}/get/rejected`,
    `${root}/+/get/accepted`,
    `${root}/+/get/rejected`,
    `${root}/+/update/accepted`,
    `${root}/+/update/rejected`,
  ];
  await subscribe();

  /**
   * Retries until the subscription is granted: a throttled broker does not answer and keeps the
   * connection open.
   */
  async function subscribe(): Promise<void> {
    for (let failures = 0; ; failures += 1) {
      try {
        return await session.subscribe(filters);
      } catch (error) {
        session.lost.throwIfAborted();
        const waitMs = backoffMs(failures, random());
        const reason = reasonOf(error);
        log.warn('Job topics not subscribed', { reason, retry_ms: waitMs });
        await clock.sleep(waitMs, session.lost);
        session.lost.throwIfAborted();
      }
    }
  }

  /** Sends one request. Undefined if no answer came in time; AWS may have got the request. */
  async function exchange(topic: string, request: object): Promise<Answer | undefined> {
    const token = randomUUID();
    const settled = new AbortController();
    const patience = AbortSignal.any([session.lost, settled.signal]);
    try {
      const askedMs = clock.monotonicMs();
      // Registered before the publish: the answer may overtake the acknowledgement.
      const answered = new Promise<Answer>((resolve) => waiting.set(token, resolve));
      await session.publish(`${root}/${topic}`, JSON.stringify({ ...request, clientToken: token }));
      const answer = await Promise.race([
        answered,
        clock.sleep(answerMsMax, patience).then(() => undefined),
      ]);
      const time = answer && 'accepted' in answer ? parseTime(answer.accepted) : undefined;
      if (time !== undefined) onTime(time, askedMs);
      return answer;
    } finally {
      settled.abort();
      waiting.delete(token);
    }
  }

  /** Retries until a definite answer arrives. */
  async function ask(topic: string, request: object): Promise<Answer> {
    for (let failures = 0; ; failures += 1) {
      session.lost.throwIfAborted();
      const answer = await exchange(topic, request).catch((error: unknown) => {
        session.lost.throwIfAborted();
        log.warn('Jobs request not sent', { topic, reason: reasonOf(error) });
        return undefined;
      });
      if (answer && !isTransient(answer)) return answer;
      const waitMs = backoffMs(failures, random());
      const code = answer && 'rejected' in answer ? answer.rejected.code : 'no answer';
      log.warn('Jobs request retried', { topic, code, retry_ms: waitMs });
      await clock.sleep(waitMs, session.lost);
    }
  }

  async function describe(jobId: string): Promise<JobExecution | undefined> {
    if (!isJobId(jobId)) return undefined;
    const answer = await ask(`${jobId}/get`, { includeJobDocument: true });
    if ('accepted' in answer) return accepted.describe.parse(answer.accepted).execution;
    if (absentCodes.has(answer.rejected.code)) return undefined;
    throw refusal(answer.rejected);
  }

  return {
    pending: async () => {
      const answer = await ask('get', {});
      if ('rejected' in answer) throw refusal(answer.rejected);
      return parsePending(answer.accepted) ?? [];
    },
    describe,
    update: async (jobId, update) => {
      // After a lost answer the source of the change is unknown, so the version is checked again.
      const answer = await ask(`${jobId}/update`, { ...update, includeJobExecutionState: true });
      if ('accepted' in answer) {
        const { executionState } = accepted.update.parse(answer.accepted);
        return {
          kind: 'taken',
          version: executionState?.versionNumber ?? update.expectedVersion + 1,
        };
      }
      const { code, executionState } = answer.rejected;
      switch (code) {
        case 'InvalidStateTransition':
        case 'TerminalStateReached':
        case 'ResourceNotFound':
          return { kind: 'over' };
        case 'VersionMismatch': {
          const now = executionState ?? (await describe(jobId));
          return now === undefined || hasEnded(now.status)
            ? { kind: 'over' }
            : { kind: 'changed', version: now.versionNumber };
        }
        default:
          throw refusal(answer.rejected);
      }
    },
  };
}

export function hasEnded(status: JobStatus): boolean {
  return status !== 'QUEUED' && status !== 'IN_PROGRESS';
}

function isTransient(answer: Answer): boolean {
  if ('accepted' in answer) return false;
  const { code } = answer.rejected;
  return code === 'RequestThrottled' || code === 'InternalError';
}

function refusal({ code, message }: Rejected): Error {
  const kind = lastingCodes.has(code) ? 'an invalid request' : 'a request';
  return new Error(`AWS IoT Jobs refused ${kind}: ${code} ${message}`);
}

function readToken(message: unknown): string | undefined {
  const token = (message as { clientToken?: unknown } | null | undefined)?.clientToken;
  return typeof token === 'string' ? token : undefined;
}
