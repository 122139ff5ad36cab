import { describe, expect, it } from 'vitest';
import { countedUnits } from '#infra/cost/counted-units.ts';
import { type CallName, calls, type Server } from '#simulation/scale/launches/calls.ts';
import { DynamoDb, type Units } from '#simulation/scale/launches/dynamodb.ts';
import { Executions } from '#simulation/scale/launches/lambda.ts';
import { type Launches, launch } from '#simulation/scale/launches/launches.ts';
import { type Limit, remedyFor } from '#simulation/scale/launches/limits.ts';
import { Timeline } from '#simulation/scale/timeline.ts';

const few = { seconds: 40, tenants: 1000 };
const warm = { warmWrites: 16_000 };

describe('the calls of a server', () => {
  const server: Server = {
    arq: 1,
    instance: 2,
    provider: 3,
    host: 4,
    project: 5,
    profile: 6,
    shard: 7,
    days: [8, 9],
  };
  const names = Object.keys(calls) as CallName[];
  const sum = (all: readonly Units[]) => all.reduce((total, { units }) => total + units, 0);
  const records = names.flatMap((name) => calls[name].records(server));

  it('take the units that are counted for a PCI device', () => {
    const history = sum(records.flatMap((record) => record.history));
    const readBy = (reader: 'changes' | 'announcements') =>
      records.filter(({ readers }) => readers.includes(reader)).length;
    const looks = records.filter(({ isLooked }) => isLooked).length;
    expect({
      requests: names.length,
      writes: sum(names.flatMap((name) => calls[name].writes(server))) + history,
      recorded: history,
      // Each look at the server reads the instance's row.
      reads: sum(names.flatMap((name) => calls[name].reads(server))) + looks,
      messages: looks,
      changes: readBy('changes'),
      announced: readBy('announcements'),
      events: records.reduce((total, { events }) => total + events, 0),
    }).toEqual({
      requests: countedUnits.pci.requests,
      writes: countedUnits.pci.writes,
      recorded: countedUnits.pci.recorded,
      reads: countedUnits.pci.reads,
      messages: countedUnits.pci.messages,
      changes: countedUnits.pci.changes,
      announced: countedUnits.pci.announced,
      events: countedUnits.pci.events,
    });
  });
});

describe('DynamoDB', () => {
  const atIndex: Units = { place: 'arqs/by-project', key: 1, units: 1 };

  it('refuses the write of a table whose index is full', () => {
    const database = new DynamoDb(new Timeline(), 16_000);
    const outcomes = Array.from({ length: 1001 }, (_, key) =>
      database.take('writes', [{ place: 'arqs', key, units: 1 }, atIndex]),
    );
    expect(outcomes.filter(Boolean)).toEqual(['arqs/by-project']);
  });

  it('takes nothing from a table for a write that an index refuses', () => {
    const database = new DynamoDb(new Timeline(), 1000);
    database.take('writes', [{ ...atIndex, units: 1000 }]);
    const row: Units = { place: 'arqs', key: 1, units: 1000 };
    expect(database.take('writes', [row, atIndex])).toBe('arqs/by-project');
    expect(database.take('writes', [row])).toBeUndefined();
  });
});

describe('Lambda', () => {
  it('starts a thousand executions of a function at once, then a hundred a second', () => {
    const timeline = new Timeline();
    const executions = new Executions(timeline, 10_000, 0);
    const start = () => Array.from({ length: 1500 }, () => executions.start('changes'));
    expect(start().filter((each) => each === 'cold')).toHaveLength(1000);
    timeline.run(2);
    expect(start().filter((each) => each === 'cold')).toHaveLength(200);
  });

  it('uses executions that wait or are provisioned before it starts one', () => {
    const executions = new Executions(new Timeline(), 10, 1);
    expect(executions.start('sweep')).toBe('warm');
    executions.end('sweep');
    expect([executions.start('sweep'), executions.start('sweep')]).toEqual(['warm', 'cold']);
  });
});

describe('launches', () => {
  it('have no failure at 250 servers a second with the defaults', () => {
    const { asked, failed, waits } = launch({ ...few, perSecond: 250 });
    expect([failed, waits.length]).toEqual([0, asked]);
  });

  it('have none at 1,000 a second in warm tables', () => {
    const { asked, failed, waits } = launch({ ...few, perSecond: 1000, raised: warm });
    expect([failed, waits.length]).toEqual([0, asked]);
  });

  const limited: readonly (readonly [Limit, Launches, remedy: string])[] = [
    ['writes to arqs', { ...few, perSecond: 1000 }, 'warm throughput of `arqs`'],
    [
      'writes to arqs/by-project',
      { ...few, tenants: 1, perSecond: 1000, raised: warm },
      'nothing: more tenants',
    ],
    ['executions', { ...few, perSecond: 50, raised: { executions: 35 } }, '`lambda` L-B99A9384'],
    [
      'growth of a function',
      { ...few, isBurst: true, seconds: 1, perSecond: 2500, raised: { executions: 5000 } },
      '`provisionedConcurrency`, and `lambda` L-B99A9384 for it',
    ],
    [
      'a route',
      { ...few, perSecond: 50, raised: { novaRequestsPerSecond: 40 } },
      '`novaRequestsPerSecond`, and `apigateway` L-8A5B8E43 to five times as much',
    ],
    [
      'API Gateway',
      { ...few, perSecond: 50, raised: { apiRequests: 180 } },
      '`apigateway` L-8A5B8E43',
    ],
  ];
  it.each(limited)('fail first at %s', (limit, load, remedy) => {
    const { asked, failed, waits, failedAt } = launch(load);
    expect([...failedAt][0]).toBe(limit);
    expect(failed).toBeGreaterThan(0);
    expect(waits.length).toBeLessThan(asked);
    expect(remedyFor(limit, load.tenants)).toBe(remedy);
  });

  it('have events that wait for EventBridge, and fail none', () => {
    const { failed, lateEvents } = launch({ ...few, perSecond: 50, raised: { putEvents: 20 } });
    expect(failed).toBe(0);
    expect(lateEvents).toBeGreaterThan(0);
  });

  it('have a history that comes later from few shards', () => {
    const load = { ...few, perSecond: 440 };
    expect(launch(load).historyLate).toBeGreaterThan(15);
    expect(launch({ ...load, raised: warm }).historyLate).toBeLessThan(12);
  });

  it('have the same result each time', () => {
    const load = { ...few, perSecond: 50 };
    expect(launch(load)).toEqual(launch(load));
  });
});
