// How soon Placement is right after a fault: the messages of one device are delivered in virtual
// time, each when its queue shows it again.

import type { SQSClient } from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import { beforeAll, describe, expect, it } from 'vitest';
import { ServiceUnavailable } from '#core/clients/http.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { makeConsumer } from '#functions/consumers/provider-syncs.ts';
import { aDevice } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const host = 'cmp1';
const provider = providerUuid(`${host}_FakeDevice`);
/** As docs/guarantees.md promises. */
const agreedSecondsMax = 10;

const world = perFile(startWorld);

beforeAll(async () => {
  await world.startComputeNode(host);
  await world.report(host, [aDevice({ handles: 3 })]);
  await syncProviders(world.deps, provider, 1);
});

function named(name: string): Error {
  return Object.assign(new Error('refused by the test'), { name });
}

const placementIsAway = new ServiceUnavailable('placement', 'http://placement', 'away', true);

type Away = (deps: ConsumerDeps) => Partial<ConsumerDeps>;

function allFail<T extends object>(parts: T, error: Error): T {
  const names = Object.keys(parts).map((name) => [name, () => Promise.reject(error)]);
  return Object.fromEntries(names) as T;
}

const databaseAway =
  (name: string): Away =>
  ({ store }) => ({ store: { ...store, inventory: allFail(store.inventory, named(name)) } });

const placementAway =
  (error: Error): Away =>
  ({ clients }) => ({ clients: { ...clients, placement: allFail(clients.placement, error) } });

/** Delivers one message until it is done, and returns when, in seconds. */
async function deliver(away: Away, awaySeconds: number): Promise<number> {
  let now = 0;
  let hiddenFor = 0;
  const sqs = {
    send: async ({ input }: { input: { VisibilityTimeout: number } }) => {
      hiddenFor = input.VisibilityTimeout;
    },
  } as unknown as Pick<SQSClient, 'send'>;
  const consumer = makeConsumer({
    deps: () => ({
      ...world.deps,
      random: () => 0.999,
      ...(now < awaySeconds && away(world.deps)),
    }),
    sqs: () => sqs,
  });
  for (let attempt = 1; attempt <= 1000; attempt += 1) {
    const record = {
      messageId: 'm',
      receiptHandle: 'r',
      body: JSON.stringify({ provider_uuid: provider }),
      attributes: { ApproximateReceiveCount: `${attempt}` },
    };
    const event = { Records: [record] } as unknown as SQSEvent;
    const { batchItemFailures } = await consumer(event, {} as never);
    if (batchItemFailures.length === 0) return now;
    now += hiddenFor;
  }
  throw new Error('The message is never done.');
}

describe.each<[string, Away]>([
  ['the database is away', databaseAway('TimeoutError')],
  ['the database throttles', databaseAway('ProvisionedThroughputExceededException')],
  ['the database has an internal error', databaseAway('InternalServerError')],
  ['Placement is away', placementAway(placementIsAway)],
  ['Placement answers what the client cannot read', placementAway(named('TypeError'))],
])('while %s', (_title, away) => {
  it.each([1, 4, 61, 500])('for %d s, Placement agrees 10 s after it at most', async (seconds) => {
    const [{ uuid }] = (await world.ask('GET', '/v2/devices')).json.devices;
    const status = seconds % 2 === 0 ? 'disable' : 'enable';
    await world.ask('POST', `/v2/devices/${uuid}/${status}`);
    const agreedAt = await deliver(away, seconds);
    expect(agreedAt).toBeGreaterThanOrEqual(seconds);
    expect(agreedAt - seconds).toBeLessThanOrEqual(agreedSecondsMax);
    const held = await world.deps.clients.placement.getInventories(provider);
    const [inventory] = Object.values(held?.inventories ?? {});
    expect(inventory?.reserved).toBe(status === 'disable' ? 3 : 0);
  });
});
