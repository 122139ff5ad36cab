// Stores the caller and the outcome of a change after the answer is made. A record that cannot be
// stored does not change the answer: it is logged instead.

import { type CallFacts, leavesRecord, toCallRecord } from '#core/domain/history/calls.ts';
import { partitionsFor } from '#core/domain/history/history.ts';
import type { Log } from '#core/log.ts';
import type { HistoryWriter } from '#core/store/history/history.ts';

/** Refused calls of one user that one container stores in a minute; the log has each. */
export const refusalsMax = 20;
const minuteMs = 60_000;
const usersMax = 1_000;

export interface CallRecorder {
  record(facts: CallFacts, log: Log): Promise<void>;
}

export function createCallRecorder(
  history: Pick<HistoryWriter, 'add'>,
  clock: () => number,
): CallRecorder {
  const refusals = new Map<string, { readonly since: number; count: number }>();

  /** A user without rights must not fill the table. */
  function isWithinBound({ caller: { userId }, status }: CallFacts): boolean {
    if (status < 400) return true;
    const counted = refusals.get(userId);
    const isCurrent = counted !== undefined && clock() - counted.since < minuteMs;
    const entry = isCurrent ? counted : { since: clock(), count: 0 };
    refusals.delete(userId);
    refusals.set(userId, entry);
    const [oldest] = refusals.keys();
    if (refusals.size > usersMax && oldest !== undefined) refusals.delete(oldest);
    entry.count += 1;
    return entry.count <= refusalsMax;
  }

  return {
    async record(facts, log) {
      if (!leavesRecord(facts) || !isWithinBound(facts)) return;
      const record = toCallRecord(facts, clock());
      try {
        const partitions = partitionsFor(record);
        await Promise.all(partitions.map((partition) => history.add(record, partition)));
      } catch (error) {
        log.error('Call record not stored', { record, error });
      }
    },
  };
}
