// The history, through the streams and the deployed consumer.

import { marshall } from '@aws-sdk/util-dynamodb';
import type { DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import { beforeAll, describe, expect, it } from 'vitest';
import { type HistoryPartition, partsOfDay } from '#core/domain/history/history.ts';
import { type ArqUuid, providerUuid } from '#core/domain/ids.ts';
import { readRename } from '#core/domain/profile/profile-renames.ts';
import { planRenames, renameInProfile } from '#core/operations/profiles/rename-in-profiles.ts';
import type { HistoryPage } from '#core/store/history/history.ts';
import { arqRow } from '#core/store/rows/arq-rows.ts';
import { handler } from '#functions/consumers/announcements.ts';
import { anArq, instanceOf } from '#test/support/builders.ts';
import { aDevice } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

let isAway = false;
const world = perFile(() =>
  startWorld({ consumers: true, eventsFail: () => (isAway ? 'InternalFailure' : undefined) }),
);
const provider = providerUuid('cmp1_FakeDevice');

beforeAll(async () => {
  await world.startComputeNode('cmp1');
  await world.report('cmp1', [aDevice({ handles: 4 })]);
  await world.createProfile('fpga', { 'resources:FPGA': '1' });
});

async function boot(instance: string): Promise<string> {
  return (await world.createBound('fpga', { provider, instance }))[0];
}

async function read(partition: HistoryPartition, page: Partial<HistoryPage> = {}) {
  const whole = { limit: 100, order: 'oldest-first', filter: {}, ...page } as const;
  return (await world.deps.history.read(partition, whole)).records;
}

const kindsOf = async (partition: HistoryPartition, page?: Partial<HistoryPage>) =>
  (await read(partition, page)).map(({ kind }) => kind);

it('is with an ARQ and its instance, and with its project, host and day', async () => {
  const arq = await boot(instanceOf(1));
  await world.deleteArqsOf(instanceOf(1));
  await eventually(() => kindsOf({ subject: 'arq', key: arq })).toHaveLength(2);
  const [created, ended] = await read({ subject: 'arq', key: arq });
  const [claimed] = await read({ subject: 'instance', key: instanceOf(1) });
  const records = [created, claimed, ended];
  const named = { profileName: 'fpga', handleUuid: expect.any(String) };
  expect(records).toMatchObject([
    { kind: 'arq.created', to: 'Initial', by: expect.stringMatching(/^user:/) },
    { kind: 'handle.claimed', from: 'free', to: 'claimed', instanceUuid: instanceOf(1), ...named },
    { kind: 'handle.released', from: 'claimed', to: 'free', since: claimed?.at, arqUuid: arq },
  ]);
  for (const record of records) expect(record?.requestId).toMatch(/^req-/);
  const { projectId = '', deviceUuid = '', at = '' } = claimed ?? {};
  const both = ['handle.claimed', 'handle.released'];
  expect(await kindsOf({ subject: 'project', key: projectId })).toEqual(both);
  const filter = { device_uuid: deviceUuid, arq_uuid: arq };
  expect(await kindsOf({ subject: 'host', key: 'cmp1' }, { filter })).toEqual(both);
  const parts = await Promise.all(partsOfDay(at.slice(0, 10)).map((part) => read(part)));
  expect(parts.flat().filter(({ arqUuid }) => arqUuid === arq)).toHaveLength(2);
  expect(await kindsOf({ subject: 'instance', key: instanceOf(1) })).toEqual(['handle.claimed']);
});

it('has the device from its first report on, and the profile', async () => {
  const host = { subject: 'host', key: 'cmp1' } as const;
  await eventually(() => kindsOf(host)).toContain('device.added');
  const added = await read(host, { filter: { kind: 'handle.added' } });
  expect(added).toHaveLength(4);
  const [device] = await read(host, { filter: { kind: 'device.added' } });
  for (const { deviceUuid } of added) expect(deviceUuid).toBe(device?.deviceUuid);
  await eventually(() => read({ subject: 'profile', key: 'fpga' })).toMatchObject([
    { kind: 'profile.created', by: expect.stringMatching(/^user:/) },
  ]);
});

it('has who deleted a device profile', async () => {
  await world.createProfile('brief', { 'resources:FPGA': '1' });
  await world.ask('DELETE', '/v2/device_profiles?value=brief');
  await eventually(() => read({ subject: 'profile', key: 'brief' })).toMatchObject([
    { kind: 'profile.created' },
    { kind: 'profile.deleted', by: expect.stringMatching(/^user:/) },
  ]);
});

it('has what an operator renamed in a device profile', async () => {
  const body = [
    { name: 'renamed', groups: [{ 'resources:FPGA': '1', 'trait:CUSTOM_A': 'required' }] },
  ];
  await world.ask('POST', '/v2/device_profiles', { body });
  const [migration] = await planRenames(world.deps, [readRename('trait:CUSTOM_A=CUSTOM_B')]);
  if (!migration) throw new Error('nothing is planned');
  expect(await renameInProfile({ ...world.deps, actor: 'operator' }, migration)).toBe(true);
  await eventually(() => read({ subject: 'profile', key: 'renamed' })).toMatchObject([
    { kind: 'profile.created' },
    { kind: 'profile.changed', by: 'operator', reason: 'trait:CUSTOM_A → trait:CUSTOM_B' },
  ]);
});

it('is written while EventBridge is away', async () => {
  isAway = true;
  const arq = await boot(instanceOf(2));
  const instance = { subject: 'instance', key: instanceOf(2) } as const;
  await eventually(() => read(instance)).toMatchObject([{ kind: 'handle.claimed', arqUuid: arq }]);
  isAway = false;
  await world.deleteArqsOf(instanceOf(2));
});

describe('a stream record that is delivered again', () => {
  const arq = anArq();
  const record = {
    eventID: 'a-record-of-a-stream',
    dynamodb: {
      NewImage: marshall(arqRow(arq), { removeUndefinedValues: true }),
      ApproximateCreationDateTime: 1_780_000_000,
    },
  } as DynamoDBRecord;

  it('adds nothing', async () => {
    const event: DynamoDBStreamEvent = { Records: [record] };
    for (let delivery = 0; delivery < 3; delivery++) await handler(event, {} as never);
    expect(await kindsOf({ subject: 'arq', key: arq.uuid })).toEqual(['arq.created']);
  });
});

it('is written of the changes behind one without a time, which is dead-lettered once', async () => {
  const recordOf = (uuid: string, createdAt: string) =>
    ({
      eventID: `timeless-${uuid}`,
      dynamodb: {
        Keys: { pk: { S: `ARQ#${uuid}` } },
        NewImage: marshall(arqRow(anArq({ uuid: uuid as ArqUuid, createdAt })), {
          removeUndefinedValues: true,
        }),
      },
    }) as unknown as DynamoDBRecord;
  const [bad, good] = [10, 11].map((number) => `bbbbbbbb-0000-4000-8000-0000000000${number}`);
  const records = [recordOf(`${bad}`, 'soon'), recordOf(`${good}`, new Date().toISOString())];
  expect(await handler({ Records: records }, {} as never)).toEqual({ batchItemFailures: [] });
  expect(await kindsOf({ subject: 'arq', key: `${bad}` })).toEqual([]);
  expect(await kindsOf({ subject: 'arq', key: `${good}` })).toEqual(['arq.created']);
});

describe('a reader', () => {
  const partition = { subject: 'profile', key: 'paged' } as const;
  const times = [1, 2, 3, 4, 5].map((second) => `2026-07-01T00:00:0${second}.000Z`);
  const at = (...seconds: number[]) => seconds.map((second) => times[second - 1]);
  const page = (given: Partial<HistoryPage>) =>
    world.deps.history.read(partition, { limit: 2, order: 'oldest-first', filter: {}, ...given });
  const timesOf = async (given: Partial<HistoryPage>) =>
    (await page(given)).records.map((each) => each.at);

  beforeAll(async () => {
    const records = times.map((time, index) => ({
      eventID: `paged-${index}`,
      dynamodb: {
        NewImage: marshall({
          pk: `DELETED#${index}`,
          names: ['paged'],
          at: time,
          by: index % 2 === 0 ? 'user:even' : 'user:odd',
        }),
      },
    })) as unknown as DynamoDBRecord[];
    await handler({ Records: records }, {} as never);
  });

  it.each(['oldest-first', 'newest-first'] as const)('gets all pages, %s', async (order) => {
    const found: string[] = [];
    let after: string | undefined;
    do {
      const { records, next } = await page({ order, ...(after && { after }) });
      expect(records.length).toBeLessThanOrEqual(2);
      found.push(...records.map((each) => each.at));
      after = next;
    } while (after);
    expect(found).toEqual(order === 'oldest-first' ? times : [...times].reverse());
  });

  it('gets a range of time, with its beginning and without its end', async () => {
    expect(await timesOf({ limit: 9, from: times[1] as string, to: times[3] as string })).toEqual(
      at(2, 3),
    );
  });

  it('gets full pages of the records that pass a filter', async () => {
    const filter = { by: 'user:even' };
    const first = await page({ filter });
    expect(first.records.map((each) => each.at)).toEqual(at(1, 3));
    expect(await timesOf({ filter, after: first.next ?? '' })).toEqual(at(5));
  });
});
