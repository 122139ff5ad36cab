// Putting events on the stage's bus of EventBridge.

import { setTimeout as sleep } from 'node:timers/promises';
import {
  type EventBridgeClient,
  PutEventsCommand,
  type PutEventsRequestEntry,
  type PutEventsResultEntry,
} from '@aws-sdk/client-eventbridge';
import {
  type CyborgEvent,
  eventBusName,
  eventDetails,
  eventSource,
} from '#core/contracts/events.ts';
import { present } from '#core/shapes/derive/present.ts';

export type PutOutcome =
  | { readonly end: 'put' }
  /** Can succeed later. `away`: EventBridge did not answer. */
  | { readonly end: 'failed' | 'away'; readonly cause: string }
  /** Can never succeed. */
  | { readonly end: 'refused'; readonly cause: string };

export interface Events {
  /** The outcome of each event, in order. Only failed events are put again. */
  put(events: readonly CyborgEvent[]): Promise<PutOutcome[]>;
}

/** https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html */
const entriesMax = 10;
const requestBytesMax = 256 * 1024;

/** Attempts for entries that a busy bus did not take; after them the caller has to retry. */
const pausesMs = [50, 200];
/** https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsResultEntry.html */
const passing = ['InternalFailure', 'InternalException', 'ThrottlingException'];

/** Longest text in an event; sentences for people can be longer. */
const reasonMax = 1000;

export function createEvents(
  client: Pick<EventBridgeClient, 'send'>,
  stage: string,
  pause: (milliseconds: number) => Promise<unknown> = sleep,
): Events {
  async function putOnce(entries: readonly PutEventsRequestEntry[]): Promise<PutOutcome[]> {
    try {
      const { Entries = [] } = await client.send(new PutEventsCommand({ Entries: [...entries] }));
      return entries.map((_, index) => toOutcome(Entries[index]));
    } catch (error) {
      const cause = `${(error as Error).name}: ${(error as Error).message}`;
      return entries.map(() => ({ end: 'away', cause }));
    }
  }

  return {
    async put(events) {
      const entries = events.map((event) => toEntry(event, stage));
      const outcomes = events.map((event, index) => check(event, entries[index] ?? {}));
      for (const pauseMs of [0, ...pausesMs]) {
        const open = outcomes.flatMap(({ end }, index) => (end === 'failed' ? [index] : []));
        if (open.length === 0) break;
        if (pauseMs > 0) await pause(pauseMs);
        for (const indexes of splitIntoBatches(open, entries)) {
          const batch = indexes.map((index) => entries[index] as PutEventsRequestEntry);
          const answers = await putOnce(batch);
          for (const [at, index] of indexes.entries()) outcomes[index] = answers[at] as PutOutcome;
          // The whole call failed, after retries by the SDK.
          if (answers.every(({ end }) => end === 'away')) return outcomes;
        }
      }
      return outcomes;
    },
  };
}

function toEntry({ type, at, detail }: CyborgEvent, stage: string): PutEventsRequestEntry {
  const reason = 'reason' in detail ? detail.reason?.slice(0, reasonMax) : undefined;
  const short = { ...detail, ...present({ reason }) };
  return {
    EventBusName: eventBusName(stage),
    Source: eventSource,
    DetailType: type,
    Time: new Date(at),
    Detail: JSON.stringify(short),
  };
}

/** An event that is invalid or too large is refused before the call. */
function check({ type }: CyborgEvent, entry: PutEventsRequestEntry): PutOutcome {
  const { error } = eventDetails[type].safeParse(JSON.parse(entry.Detail ?? ''));
  if (error) return { end: 'refused', cause: error.message };
  const bytes = countBytes(entry);
  return bytes > requestBytesMax
    ? { end: 'refused', cause: `It takes ${bytes} bytes.` }
    : { end: 'failed', cause: 'It was not tried.' };
}

function toOutcome(answer: PutEventsResultEntry | undefined): PutOutcome {
  if (answer?.EventId) return { end: 'put' };
  const cause = `${answer?.ErrorCode ?? 'no answer'}: ${answer?.ErrorMessage ?? ''}`;
  const isPassing = !answer?.ErrorCode || passing.includes(answer.ErrorCode);
  return { end: isPassing ? 'failed' : 'refused', cause };
}

/** EventBridge counts 14 bytes for the time. */
function countBytes({ Source = '', DetailType = '', Detail = '' }: PutEventsRequestEntry): number {
  return 14 + Buffer.byteLength(Source + DetailType + Detail);
}

/** Indexes of entries, in order, as many at once as a request may hold. */
function splitIntoBatches(indexes: readonly number[], entries: readonly PutEventsRequestEntry[]) {
  const batches: number[][] = [];
  let bytes = requestBytesMax;
  for (const index of indexes) {
    const size = countBytes(entries[index] as PutEventsRequestEntry);
    bytes += size;
    if (bytes <= requestBytesMax && (batches.at(-1)?.length ?? 0) < entriesMax) {
      batches.at(-1)?.push(index);
    } else {
      batches.push([index]);
      bytes = size;
    }
  }
  return batches;
}
