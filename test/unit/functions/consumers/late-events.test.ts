// A day without EventBridge: the reader of the streams writes the history and goes on, and the
// events reach the bus afterwards, each of them, through their queue.

import type { Context, SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, it } from 'vitest';
import type { PutOutcome } from '#core/clients/aws/events.ts';
import type { CyborgEvent } from '#core/contracts/events.ts';
import { silentLog } from '#core/log.ts';
import { noMetrics } from '#core/metrics.ts';
import { announce } from '#core/operations/outbox/announce.ts';
import { lateEventsConsumer } from '#functions/consumers/late-events.ts';

const event = (device: string): CyborgEvent => ({
  type: 'Device added',
  at: 1_000,
  detail: { device_uuid: device } as never,
});

let outcomeOf: (event: CyborgEvent) => PutOutcome;
let put: CyborgEvent[];
let sent: object[];
let dead: object[];
beforeEach(() => {
  [put, sent, dead] = [[], [], []];
  outcomeOf = () => ({ end: 'put' });
});

const bus = {
  put: async (events: readonly CyborgEvent[]) => {
    const outcomes = events.map(outcomeOf);
    put.push(...events.filter((_, index) => outcomes[index]?.end === 'put'));
    return outcomes;
  },
};
const announcer = {
  stage: 'test',
  log: silentLog,
  events: bus,
  metrics: noMetrics,
  history: undefined as never,
  incidentMarks: undefined as never,
  queues: {
    send: async (_queue: string, messages: readonly object[]) => void sent.push(...messages),
  },
  deadLetter: async (what: object) => void dead.push(what),
};

describe('events that are announced', () => {
  it('wait in the queue if the bus does not take them; what it refuses is dead-lettered', async () => {
    const ends: Record<string, PutOutcome> = {
      a: { end: 'put' },
      b: { end: 'failed', cause: 'busy' },
      c: { end: 'refused', cause: 'too large' },
      d: { end: 'away', cause: 'no answer' },
    };
    const all = Object.keys(ends).map(event);
    outcomeOf = ({ detail }) => ends[(detail as { device_uuid: string }).device_uuid] as PutOutcome;
    await announce(announcer, all);
    expect(put).toEqual([all[0]]);
    expect(sent).toEqual([all[1], all[3]]);
    expect(dead).toEqual([{ cause: 'too large', event: all[2] }]);
  });

  it('fail, and come again, while the queue is away as well', async () => {
    outcomeOf = () => ({ end: 'away', cause: 'no answer' });
    const send = () => Promise.reject(new Error('SQS is away.'));
    await expect(announce({ ...announcer, queues: { send } }, [event('a')])).rejects.toThrow();
  });
});

describe('an event of the queue', () => {
  const hidden: unknown[] = [];
  const deliver = (body: object, attempt = 1) => {
    const record = {
      messageId: 'm',
      receiptHandle: 'r',
      body: JSON.stringify(body),
      attributes: { ApproximateReceiveCount: String(attempt) },
    } as unknown as SQSRecord;
    const settings = { stage: 'test', queueUrls: {}, deadQueueUrls: {} };
    const consumer = lateEventsConsumer(() => bus)({
      deps: () => ({ settings, log: silentLog }) as never,
      sqs: () =>
        ({ send: async ({ input }: { input: unknown }) => void hidden.push(input) }) as never,
    });
    return consumer({ Records: [record] }, {} as Context);
  };
  beforeEach(() => hidden.splice(0));

  it('is put once the bus takes it, and comes again until then, at most 15 minutes later', async () => {
    outcomeOf = () => ({ end: 'away', cause: 'no answer' });
    for (const attempt of [1, 5, 200]) {
      const { batchItemFailures } = await deliver(event('a'), attempt);
      expect(batchItemFailures).toHaveLength(1);
    }
    expect(hidden).toMatchObject([1, 16, 900].map((VisibilityTimeout) => ({ VisibilityTimeout })));
    outcomeOf = () => ({ end: 'put' });
    expect((await deliver(event('a'))).batchItemFailures).toEqual([]);
    expect(put).toEqual([event('a')]);
  });

  it('that the bus refuses is dead-lettered with the cause', async () => {
    outcomeOf = () => ({ end: 'refused', cause: 'too large' });
    expect((await deliver(event('a'))).batchItemFailures).toEqual([]);
    const cause = { DataType: 'String', StringValue: 'too large' };
    expect(hidden).toMatchObject([{ MessageAttributes: { cause } }]);
  });
});
