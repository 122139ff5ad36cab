// Marks of hosts and devices that may have an incident: the list that reads them alone has what
// the list of all hosts and devices has, whatever was lost, late or there before the marks.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DeleteCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { measureFleet } from '#core/operations/fleet/measure-fleet.ts';
import { allHosts } from '#core/operations/placement/restore-tree.ts';
import { incidentMarkKey, incidentRoundsKey } from '#core/store/rows/rows.ts';
import { tableName } from '#core/store/table/tables.ts';
import { aDevice } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld } from '#test/support/world.ts';

const hourMs = 3_600_000;
const world = perFile(() =>
  startWorld({ consumers: true, settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI' } }),
);
let documents: DynamoDBDocumentClient;

beforeAll(() => {
  documents = DynamoDBDocumentClient.from(new DynamoDBClient());
});
afterAll(() => documents.destroy());

const hot = aDevice({
  health: { state: 'unhealthy', reason: 'is hot', since: '2026-01-01T00:00:00Z' },
});
const marks = () => world.deps.store.incidentMarks;
const marked = async (kind: 'host' | 'device') =>
  (await marks().marks(kind)).map(({ hostname }) => hostname);

async function sweep(deps: ConsumerDeps = world.deps): Promise<void> {
  await measureFleet(deps, await allHosts(deps));
}

/** What the list reads: of marks alone, or of all hosts and devices. */
async function list(reads: 'marks' | 'all'): Promise<readonly unknown[]> {
  const now = Date.now();
  const [since, at] = [now - 2 * hourMs, now].map((ms) => new Date(ms).toISOString());
  if (reads === 'marks') await marks().putRounds({ since: String(since), at: String(at) });
  else await remove(incidentRoundsKey());
  const { json } = await world.ask('GET', '/operator/v1/incidents');
  return json.incidents;
}

const remove = (Key: Record<string, string>) =>
  documents.send(new DeleteCommand({ TableName: tableName(stage, 'inventory'), Key }));

describe('the incidents of marked hosts and devices', () => {
  it('are those of all, once the stream has marked them', async () => {
    await world.report('calm', [aDevice()]);
    await world.report('ill', [hot]);
    await eventually(() => marked('device')).toEqual(['ill']);
    // Agents that report and have no connection may be away.
    await eventually(() => marked('host')).toEqual(['calm', 'ill']);
    const all = await list('all');
    expect(all).toMatchObject([{ kind: 'unhealthy-device', hostname: 'ill' }]);
    expect(await list('marks')).toEqual(all);
  });

  it('are those of all, once the sweep has set the marks that are missing', async () => {
    const [mark] = await marks().marks('device');
    await remove(incidentMarkKey('device', String(mark?.id)));
    await remove(incidentMarkKey('host', 'ill'));
    expect(await list('marks')).toEqual([]);
    await sweep();
    expect(await marked('host')).toEqual(['calm', 'ill']);
    expect(await list('marks')).toEqual(await list('all'));
  });

  it('are read without the marks until a round of the sweep began an hour after the first', async () => {
    await remove(incidentRoundsKey());
    await sweep();
    const [mark] = await marks().marks('device');
    await remove(incidentMarkKey('device', String(mark?.id)));
    const incidents = async () => (await world.ask('GET', '/operator/v1/incidents')).json.incidents;
    expect(await incidents()).toHaveLength(1);
  });

  it('lose their marks by the sweep', async () => {
    await sweep();
    expect(await marked('device')).toEqual(['ill']);
    // A device that was unhealthy is watched for ten minutes.
    for (const minutes of [0, 20]) {
      const later = { ...world.deps, clock: () => Date.now() + minutes * 60_000 };
      await world.report('ill', [aDevice()], {}, later);
    }
    await sweep();
    expect(await marked('device')).toEqual([]);
    await marks().mark({ kind: 'host', id: 'gone', hostname: 'gone' }, new Date().toISOString());
    await marks().mark({ kind: 'device', id: 'gone', hostname: 'gone' }, new Date().toISOString());
    await sweep();
    expect([await marked('host'), await marked('device')]).toEqual([['calm', 'ill'], []]);
  });

  it('keep a mark that is set again while the sweep looks', async () => {
    await eventually(() => marked('device')).toEqual([]);
    const at = new Date().toISOString();
    const again = { kind: 'host', id: 'back', hostname: 'back' } as const;
    await marks().mark(again, at);
    const { inventory } = world.deps.store;
    const looking: ConsumerDeps = {
      ...world.deps,
      store: {
        ...world.deps.store,
        inventory: {
          ...inventory,
          hostSummary: async (name) => {
            const summary = await inventory.hostSummary(name);
            if (name === 'back') await marks().mark(again, at);
            return summary;
          },
        },
      },
    };
    await sweep(looking);
    expect(await marked('host')).toContain('back');
    await sweep();
    expect(await marked('host')).not.toContain('back');
  });

  it('are listed whole where marked rows are deleted', async () => {
    for (const name of ['a1', 'a2', 'a3', 'a4']) {
      await marks().mark({ kind: 'host', id: name, hostname: name }, new Date().toISOString());
    }
    const hosts = await marks().markedHosts(undefined, 1);
    expect(hosts.map(({ hostname }) => hostname)).toEqual(['calm']);
    const two = await marks().markedHosts(undefined, 2);
    expect(two.map(({ hostname }) => hostname)).toEqual(['calm', 'ill']);
    expect(await marks().markedHosts('ill', 2)).toEqual([]);
  });
});
