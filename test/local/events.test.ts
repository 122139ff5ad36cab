import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createEvents } from '#core/clients/aws/events.ts';
import type { CyborgEvent } from '#core/contracts/events.ts';
import { type DeliveredEvent, type Entry, startEvents } from '#local/aws/events.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const delivered: DeliveredEvent[] = [];
let fails: (entry: Entry) => string | undefined = () => undefined;
let client: EventBridgeClient;

const engine = perFile(() =>
  startEvents({
    host: '127.0.0.1',
    port: 0,
    onEvent: (event) => void delivered.push(event),
    fails: (entry) => fails(entry),
  }),
);
beforeAll(() => {
  client = new EventBridgeClient({
    endpoint: engine.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts: 1,
  });
});
afterAll(() => client.destroy());
beforeEach(() => {
  delivered.length = 0;
  fails = () => undefined;
});

const entry = { Source: 'test', DetailType: 'Happened', Detail: '{"a":1}' };

describe('the fake EventBridge', () => {
  it('delivers an entry in the form of EventBridge', async () => {
    const Time = new Date('2026-07-01T01:02:03.000Z');
    const { FailedEntryCount, Entries } = await client.send(
      new PutEventsCommand({ Entries: [{ ...entry, Time, EventBusName: 'test-cyborg' }] }),
    );
    expect(FailedEntryCount).toBe(0);
    expect(delivered).toEqual([
      {
        version: '0',
        id: Entries?.[0]?.EventId,
        'detail-type': 'Happened',
        source: 'test',
        account: '000000000000',
        time: '2026-07-01T01:02:03Z',
        region: 'us-east-1',
        resources: [],
        detail: { a: 1 },
      },
    ]);
  });

  it('accepts valid entries and names the refused ones', async () => {
    const Entries = [{ ...entry, Detail: 'no' }, entry, { Source: 'test', Detail: '{}' }];
    const answer = await client.send(new PutEventsCommand({ Entries }));
    expect(answer.FailedEntryCount).toBe(2);
    expect(answer.Entries?.map(({ ErrorCode }) => ErrorCode)).toEqual([
      'MalformedDetail',
      undefined,
      'InvalidArgument',
    ]);
    expect(delivered).toHaveLength(1);
  });

  it('refuses more than ten entries, and more than 256 KB', async () => {
    const put = (Entries: object[]) => client.send(new PutEventsCommand({ Entries }));
    await expect(put(Array.from({ length: 11 }, () => entry))).rejects.toThrow(/10/);
    const large = { ...entry, Detail: JSON.stringify({ text: 'x'.repeat(200_000) }) };
    await expect(put([large, large])).rejects.toThrow('256 KB');
    expect(delivered).toEqual([]);
  });
});

describe('events', () => {
  const uuidOf = (index: number) => `aaaaaaaa-0000-4000-8000-${`${index}`.padStart(12, '0')}`;
  const quarantined = (index: number, reason = 'not blanked'): CyborgEvent => ({
    type: 'Handle quarantined',
    at: 1000,
    detail: {
      version: 1,
      id: uuidOf(index),
      stage: 'test',
      handle_uuid: uuidOf(index),
      provider_uuid: uuidOf(9999),
      reason,
    },
  });
  const many = (count: number) => Array.from({ length: count }, (_, at) => quarantined(at));
  const idsOf = (events: readonly DeliveredEvent[]) => events.map(({ detail }) => detail.id);
  const events = () => createEvents(client, 'test', async () => {});

  it('are put ten at a time', async () => {
    const outcomes = await events().put(many(25));
    expect(outcomes).toEqual(Array.from({ length: 25 }, () => ({ end: 'put' })));
    expect(idsOf(delivered)).toEqual(many(25).map(({ detail }) => detail.id));
  });

  it('are put again if a busy bus refused them, and no others', async () => {
    let refusals = 2;
    fails = ({ Detail }) => {
      if (!Detail?.includes(uuidOf(1)) || refusals === 0) return undefined;
      refusals -= 1;
      return 'ThrottlingException';
    };
    expect(await events().put(many(3))).toEqual([{ end: 'put' }, { end: 'put' }, { end: 'put' }]);
    expect(idsOf(delivered)).toEqual([uuidOf(0), uuidOf(2), uuidOf(1)]);
  });

  it('are either refused for ever or failed for now', async () => {
    fails = ({ Detail }) => {
      if (Detail?.includes(uuidOf(0))) return 'ThrottlingException';
      return Detail?.includes(uuidOf(1)) ? 'NotAuthorizedForSourceException' : undefined;
    };
    expect(await events().put(many(3))).toMatchObject([
      { end: 'failed', cause: expect.stringContaining('ThrottlingException') },
      { end: 'refused', cause: expect.stringContaining('NotAuthorizedForSource') },
      { end: 'put' },
    ]);
  });

  it('are not put if they break their schema', async () => {
    const odd = quarantined(1);
    const wrong = { ...odd, detail: { ...odd.detail, id: 'no uuid' } } as CyborgEvent;
    expect(await events().put([quarantined(0), wrong])).toMatchObject([
      { end: 'put' },
      { end: 'refused', cause: expect.stringContaining('id') },
    ]);
    expect(delivered).toHaveLength(1);
  });

  it('have the cause of their refusal, shortened to its limit', async () => {
    await events().put([quarantined(0, 'x'.repeat(300_000))]);
    expect(String(delivered[0]?.detail.reason)).toHaveLength(1000);
  });

  it('fail as a whole while EventBridge is unavailable', async () => {
    const unreachable = new EventBridgeClient({
      endpoint: 'http://127.0.0.1:1',
      region: 'us-east-1',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
      maxAttempts: 1,
    });
    const outcomes = await createEvents(unreachable, 'test', async () => {}).put(many(2));
    expect(outcomes.map(({ end }) => end)).toEqual(['away', 'away']);
  });
});
