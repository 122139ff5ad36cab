import { marshall } from '@aws-sdk/util-dynamodb';
import type { Context, DynamoDBRecord } from 'aws-lambda';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BindId, DeviceProfileUuid, ReleaseId } from '#core/domain/ids.ts';
import { silentLog } from '#core/log.ts';
import { arqRow, instanceRow } from '#core/store/rows/arq-rows.ts';
import { handleRow } from '#core/store/rows/handle-rows.ts';
import { jobRow, workRow } from '#core/store/rows/host-work-rows.ts';
import { deployableRow, deviceRow } from '#core/store/rows/inventory-rows.ts';
import { profileDeletionRow, profileRow } from '#core/store/rows/profile-rows.ts';
import * as rows from '#core/store/rows/rows.ts';
import { hostKey, type Row } from '#core/store/rows/rows.ts';
import { announcementsConsumer } from '#functions/consumers/announcements.ts';
import { changesConsumer } from '#functions/consumers/changes.ts';
import { announcedChanges, followedChanges } from '#infra/stack/stream-filters.ts';
import { type Change, invokes, type Table } from '#simulation/stream-filter.ts';
import {
  aBinding,
  aDeployable,
  anArq,
  aProviderUuid,
  aStoredDevice,
  aStoredHandle,
} from '#test/support/builders.ts';
import { someDeps } from '#test/support/deps.ts';

const aJobUuid = '0b000000-0000-4000-8000-000000000001';

/** Messages that the deployed consumer sends for a change. */
async function messagesAfter({ before, after }: Change) {
  let sent = 0;
  const deps = someDeps({
    queues: {
      send: async (_queue, messages) => {
        sent += messages.length;
      },
    },
  });
  await changesConsumer(() => deps)(eventOf({ before, after }), {} as Context);
  return { sent };
}

function eventOf({ before, after }: { before: Row | undefined; after: Row | undefined }) {
  const image = (row: Row) => marshall(row, { removeUndefinedValues: true });
  const record = {
    dynamodb: {
      ...(before && { OldImage: image(before) }),
      ...(after && { NewImage: image(after) }),
    },
  } as DynamoDBRecord;
  return { Records: [record] };
}

const instance = fc
  .record({
    state: fc.constantFrom('BindStarted', 'Bound', 'BindFailed'),
    bindId: fc.constantFrom('bind-1' as BindId, 'bind-2' as BindId),
    unused: fc.constantFrom(
      {},
      { unusedSince: '2026-07-01T01:02:03.000Z' },
      { unusedSince: '2026-07-01T01:02:03.000Z', reservedProviders: [aProviderUuid] },
      { hasLostAllocation: true, reservedProviders: [aProviderUuid] },
    ),
  })
  .map(({ unused, ...given }) => instanceRow(aBinding({ ...given, ...unused })));
const job = fc
  .record({ bootedHost: fc.constantFrom(undefined, 'cmp1'), bootId: fc.uuid() })
  .map(({ bootedHost, bootId }) =>
    jobRow(aJobUuid, { instances: ['instance-1'], bootId, ...(bootedHost && { bootedHost }) }),
  );
const { bindId, instanceUuid, hostname } = aBinding();
const anArqBinding = { bindId, instanceUuid, hostname, providerUuid: aProviderUuid };
const arq = fc
  .record({ state: fc.constantFrom('Initial', 'Bound', 'BindFailed'), isBound: fc.boolean() })
  .map(({ state, isBound }) =>
    arqRow(anArq({ state: state as 'Initial', ...(isBound && { binding: anArqBinding }) })),
  );
const device = fc
  .record({
    isGone: fc.boolean(),
    digest: fc.string({ maxLength: 3 }),
    hasProvider: fc.boolean(),
    holds: fc.constantFrom(
      [],
      [{ id: 'hold-1', reason: 'loud', by: 'user-1', at: '2026-07-01T01:02:03.000Z' }],
    ),
  })
  .map(({ hasProvider, ...given }) =>
    deviceRow(aStoredDevice({ ...given, ...(!hasProvider && { providers: [] }) })),
  );
const handle = fc
  .record({
    isGone: fc.boolean(),
    isClaimed: fc.boolean(),
    epoch: fc.nat(3),
    quarantine: fc.constantFrom(undefined, 'not blanked', 'not confirmed'),
    isRestored: fc.boolean(),
  })
  .map(({ isGone, isClaimed, epoch, quarantine, isRestored }) => ({
    ...handleRow(aStoredHandle({ isGone, epoch })),
    ...(isRestored && { restored_at: '2026-07-01T01:02:03.000Z' }),
    ...(quarantine && { quarantine }),
    ...(isClaimed && { arq_uuid: 'arq-1', instance_uuid: 'instance-1' }),
  }));
const deployable = fc.boolean().map((isGone) => deployableRow(aDeployable({ isGone })));
const programmed = fc.constantFrom('started', 'done', 'failed').map((state) => ({
  ...deployableRow(aDeployable()),
  program_id: 'program-1',
  program_note: { image: 'image-1', by: 'user-1', at: '2026-07-01T01:02:03.000Z', state },
}));
const aProfile = {
  uuid: aJobUuid as DeviceProfileUuid,
  groups: [],
  revision: 1,
  microversion: '2.0',
  createdAt: '2026-07-01T01:02:03.000Z',
};
const profile = fc.constantFrom('one', 'two').map((name) => profileRow({ ...aProfile, name }));
const deletion = fc
  .constantFrom('user:1', 'user:2')
  .map((by) =>
    profileDeletionRow(aJobUuid, { names: ['one'], by, at: '2026-07-01T01:02:03.000Z' }),
  );
const host = fc.nat(9).map((sequence) => ({ ...hostKey('cmp1'), sequence }));

/** Events that the deployed consumer puts or counts for a change, and records that it adds. */
async function eventsAfter({ before, after }: Change): Promise<number> {
  let put = 0;
  const announcer = {
    stage: 'test',
    log: silentLog,
    history: {
      add: async () => {
        put += 1;
      },
      handlePlace: async () => undefined,
    },
    incidentMarks: {
      mark: async () => {
        put += 1;
      },
    },
    queues: { send: async () => {} },
    metrics: {
      put: (values: readonly unknown[]) => {
        put += values.length;
      },
    },
    deadLetter: async () => {},
    events: {
      put: async (events: readonly unknown[]) => {
        put += events.length;
        return events.map(() => ({ end: 'put' }) as const);
      },
    },
  };
  await announcementsConsumer(() => announcer)(eventOf({ before, after }), {} as Context);
  return put;
}

/** Handles that are not gone, in quarantine or restored. */
function isUsual(row: Row): boolean {
  const isKept = row.quarantine !== undefined || row.restored_at !== undefined;
  return (row.is_gone === undefined || 'arq_uuid' in row) && !isKept;
}

/** Kinds of changes: inserted, modified, removed. */
function changesOf(table: Table, row: fc.Arbitrary<Row>): fc.Arbitrary<Change> {
  return fc.oneof(
    row.map((after) => ({ table, after })),
    row.map((before) => ({ table, before })),
    fc.tuple(row, row).map(([before, after]) => ({ table, before, after })),
  );
}

describe('the filters of the streams', () => {
  it('pass every change that has a follow-up, is counted, announced or recorded', async () => {
    const any = fc.oneof(
      ...[instance, arq, job].map((row) => changesOf('arqs', row)),
      ...[device, handle, deployable, programmed, host].map((row) => changesOf('inventory', row)),
      changesOf('arqs', fc.constant({ pk: 'ARQ#1', is_barred: true })),
      ...[profile, deletion].map((row) => changesOf('device-profiles', row)),
    );
    await fc.assert(
      fc.asyncProperty(any, async (change) => {
        const { sent } = await messagesAfter(change);
        if (sent > 0) expect(invokes(change)).toBe(true);
        if ((await eventsAfter(change)) > 0) expect(invokes(change, announcedChanges)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('save an invocation for changes without a follow-up', () => {
    const quiet = fc.oneof(
      changesOf('arqs', arq),
      changesOf('inventory', fc.oneof(deployable, host)),
      changesOf('inventory', handle.filter(isUsual)),
      fc.oneof(device, handle).map((before): Change => ({ table: 'inventory', before })),
      job.map((before): Change => ({ table: 'arqs', before })),
      changesOf(
        'arqs',
        job.filter((row) => row.booted_host === undefined),
      ),
    );
    fc.assert(
      fc.property(quiet, (change) => {
        expect(invokes(change)).toBe(false);
      }),
    );
  });

  it('pass the changes in the life of an instance and of a device', async () => {
    const work = {
      id: aJobUuid as ReleaseId,
      hostname: 'cmp1',
      handles: [],
      startedAt: '2026-07-01T01:02:03.000Z',
    };
    const followed: Change[] = [
      {
        table: 'arqs',
        before: instanceRow(aBinding({ state: 'BindStarted' })),
        after: instanceRow(aBinding({ state: 'Bound' })),
      },
      {
        table: 'arqs',
        before: instanceRow(aBinding({ state: 'BindStarted' })),
        after: instanceRow(aBinding({ state: 'BindFailed' })),
      },
      {
        table: 'arqs',
        after: jobRow(aJobUuid, { instances: [], bootId: 'b', bootedHost: 'cmp1' }),
      },
      { table: 'arqs', after: workRow({ kind: 'release', ...work }, work.startedAt) },
      {
        table: 'arqs',
        after: workRow(
          { kind: 'program', ...work, imageId: aJobUuid, providerUuid: aProviderUuid },
          work.startedAt,
        ),
      },
      { table: 'inventory', after: deviceRow(aStoredDevice()) },
      { table: 'inventory', after: handleRow(aStoredHandle({ isGone: true })) },
      {
        table: 'inventory',
        before: handleRow(aStoredHandle({ cleanSeconds: 7200 })),
        after: handleRow(aStoredHandle({ cleanSeconds: 7200, release: aJobUuid as ReleaseId })),
      },
      {
        table: 'inventory',
        before: handleRow(aStoredHandle({ locality: { numa: 0 } })),
        after: {
          ...handleRow(aStoredHandle({ locality: { numa: 0 } })),
          arq_uuid: 'arq-1',
          instance_uuid: 'instance-1',
        },
      },
    ];
    for (const change of followed) {
      expect(invokes(change)).toBe(true);
      expect(await messagesAfter(change)).toMatchObject({ sent: 1 });
    }
  });

  it('have a pattern for every kind of row', () => {
    // A new kind of row with a follow-up needs a pattern, too.
    const quiet = [
      'ARQ#',
      'REAPER',
      'REAPER_WAITS',
      'REAPER_NEVER_BUILT',
      'QUOTA#',
      'UNBOUND##',
      'RESTORED',
      'HOST',
      'NOT_OFFERED',
      'SUMMARY',
      'BASELINES',
      'DOMAIN#',
      'MARK#',
      'ROUNDS',
      'HOSTS#',
      'CLAIMS#',
      'HOLDS',
      'WAITING#',
      'DEPLOYABLE',
      'NAME#',
      'UUID#',
    ];
    const followed = ['INSTANCE#', 'JOB#', 'RELEASE#', 'PROGRAM#', 'DEVICE#', 'HANDLE#'];
    const kinds = Object.entries(rows)
      .filter(([name]) => name.endsWith('Key'))
      .map(([, keyOf]) => (keyOf as (...parts: string[]) => { pk: string; sk?: string })('', ''))
      .map(({ pk, sk }) => sk ?? pk);
    expect(kinds.filter((kind) => ![...quiet, ...followed].includes(kind))).toEqual([]);
    const patterns = JSON.stringify(followedChanges);
    for (const kind of followed) expect(patterns).toContain(`"${kind}"`);
  });

  it('are no more than Lambda allows', () => {
    for (const patterns of [followedChanges, announcedChanges].flatMap(Object.values)) {
      expect(patterns.length).toBeLessThanOrEqual(5);
    }
  });
});
