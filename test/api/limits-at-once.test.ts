// Limits hold for any number of requests at the same time: each write carries the limit.

import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, it } from 'vitest';
import { holdsMax } from '#core/domain/device/device-holds.ts';
import { baselinesMax } from '#core/domain/device/firmware/firmware-baselines.ts';
import { grantsMax } from '#core/domain/device/firmware/program-grants.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { tableName } from '#core/store/table/tables.ts';
import { createProject, operatorsApi } from '#test/api/operators-api.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { sentenceOf } from '#test/support/stored/refusals.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Answer, stage, startWorld } from '#test/support/world.ts';

const extra = 6;
/** Large enough for two rows of places. */
const unboundMax = 300;
const world = perFile(() =>
  startWorld({ settings: { CYBORG_UNBOUND_ARQS_MAX: String(unboundMax) } }),
);
let operators: ReturnType<typeof operatorsApi>;
let device: string;

beforeAll(async () => {
  operators = operatorsApi(world);
  await applySettled(world.deps, 'cmp1', aReport([aDevice()]), Date.now());
  device = (await world.ask('GET', '/v2/devices')).json.devices[0]?.uuid ?? '';
});

interface Limited {
  readonly max: number;
  readonly accepted: number;
  readonly refused: number;
  readonly sentence: () => string;
  /** Asks for the member of that number. */
  readonly add: (index: number) => Promise<Answer>;
  readonly remove: (index: number) => Promise<unknown>;
  /** How many there are. */
  readonly count: () => Promise<number>;
}

const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
const projects: string[] = [];
async function projectOf(index: number): Promise<string> {
  projects[index] ??= await createProject(world.urls.keystone, `limited-${index}`);
  return projects[index];
}
const baselineOf = (index: number) => encodeURIComponent(`8086:${index + 1000}:bmc`);
const hostOf = (index: number) => `limited-${index}`;

const limited: Readonly<Record<string, Limited>> = {
  'grants of a device': {
    max: grantsMax,
    accepted: 200,
    refused: 400,
    sentence: () => `Device ${device} already has 16 grants, the maximum.`,
    add: async (index) =>
      operators('POST', `/devices/${device}/grant`, {
        body: { project_id: await projectOf(index), until: inAnHour },
      }),
    remove: async (index) =>
      operators('POST', `/devices/${device}/revoke`, {
        body: { project_id: await projectOf(index) },
      }),
    count: async () => {
      const stored = await world.deps.listings.deviceByUuid(device);
      return stored?.grants?.length ?? 0;
    },
  },
  holds: {
    max: holdsMax,
    accepted: 200,
    refused: 400,
    sentence: () => 'The cloud already has 100 holds, the maximum.',
    add: (index) =>
      operators('POST', '/holds', {
        body: { hostname: hostOf(index), reason: 'limited' },
      }),
    remove: async (index) => {
      const { holds } = await world.deps.store.holds.holds();
      const hold = holds.find(({ selector }) => selector.hostname === hostOf(index));
      return operators('DELETE', `/holds/${hold?.id}`);
    },
    count: async () => (await world.deps.store.holds.holds()).holds.length,
  },
  baselines: {
    max: baselinesMax,
    accepted: 200,
    refused: 400,
    sentence: () => 'The cloud already has 256 baselines, the maximum.',
    add: (index) =>
      operators('PUT', `/firmware/baselines/${baselineOf(index)}`, { body: { version: '1' } }),
    remove: (index) => operators('DELETE', `/firmware/baselines/${baselineOf(index)}`),
    count: async () => (await world.deps.store.baselines.baselines()).length,
  },
};

describe.each(Object.entries(limited))('%s', (_name, each) => {
  it('are at most as many as are allowed, and each refusal says so', async () => {
    const indexes = Array.from({ length: each.max + extra }, (_, index) => index);
    await Promise.all(indexes.map((index) => (each.max === grantsMax ? projectOf(index) : index)));
    const answers = await Promise.all(indexes.map(each.add));
    const refused = answers.filter(({ status }) => status !== each.accepted);
    expect(new Set(refused.map(sentenceOf))).toEqual(new Set([each.sentence()]));
    expect(refused.map(({ status }) => status)).toEqual(Array(extra).fill(each.refused));
    expect(await each.count()).toBe(each.max);

    const stored = answers.findIndex(({ status }) => status === each.accepted);
    // The same one again takes no other place.
    expect((await each.add(stored)).status).toBe(each.accepted);
    await Promise.all([each.remove(stored), each.remove(stored)]);
    expect(await each.count()).toBe(each.max - 1);
    const again = await Promise.all([stored, each.max + extra].map(each.add));
    expect(again.map(({ status }) => status).sort()).toEqual([each.accepted, each.refused]);
    expect(await each.count()).toBe(each.max);
  });
});

it('counts baselines that an earlier release has stored', async () => {
  const { documents } = createDocuments();
  await documents.send(
    new UpdateCommand({
      TableName: tableName(stage, 'inventory'),
      Key: { pk: 'BASELINES', sk: 'BASELINES' },
      UpdateExpression: 'REMOVE baseline_count',
    }),
  );
  const baselines = limited.baselines as Limited;
  const spare = baselines.max + extra + 1;
  const add = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, index) => baselines.add(spare + index)));
  expect((await add(3)).map(({ status }) => status)).toEqual([400, 400, 400]);
  await baselines.remove(3);
  const statuses = (await add(4)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  expect(await baselines.count()).toBe(baselines.max);
});

describe('unbound ARQs of a project', () => {
  const path = '/v2/accelerator_requests';
  const token = 'demo-token';
  const uuidOf = ({ json }: Answer) => json.arqs[0]?.uuid ?? '';

  async function createOne(): Promise<Answer> {
    return world.ask('POST', path, { token, body: { device_profile_name: 'one' } });
  }
  /** The engine of a busy machine takes no more at once. */
  const atOnce = 40;

  async function createMany(count: number): Promise<Answer[]> {
    const answers: Answer[] = [];
    const requests = Array.from({ length: count }, () => createOne);
    await forEachAtOnce(requests, atOnce, async (request) => {
      answers.push(await request());
    });
    return answers;
  }

  const statusesOf = (answers: readonly Answer[]) =>
    Object.fromEntries(
      [...Map.groupBy(answers, ({ status }) => status)].map(([status, { length }]) => [
        status,
        length,
      ]),
    );

  it('are at most as many as are set', async () => {
    await world.createProfile('one', { 'resources:FPGA': '1' });
    const answers = await createMany(unboundMax + extra);
    expect(statusesOf(answers)).toEqual({ 201: unboundMax, 403: extra });
    const refused = answers.find(({ status }) => status === 403);
    expect(refused?.json.error).toBe(
      'The project has 300 accelerator requests that are bound to no instance and asks for 1 more; ' +
        'at most 300 are allowed. Delete some, or wait: each is deleted 15 minutes after its creation.',
    );
    expect((await world.ask('GET', `${path}?limit=1000`, { token })).json.arqs).toHaveLength(
      unboundMax,
    );

    // Each delete frees one place, also one that comes twice.
    const stored = answers.filter(({ status }) => status === 201).map(uuidOf);
    const deleted = [...stored.slice(0, 3), ...stored.slice(0, 3)];
    await Promise.all(
      deleted.map((uuid) => world.ask('DELETE', `${path}?arqs=${uuid}`, { token })),
    );
    expect(statusesOf(await createMany(3 + extra))).toEqual({ 201: 3, 403: extra });
  });
});
