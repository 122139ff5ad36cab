// The verdicts of the bench.

import { expect, it, vi } from 'vitest';
import { type Costs, refuseUncounted } from './capacity.ts';
import { refuseUnmeasured } from './large.ts';
import { areWithin, refuseUncountedReads } from './operators.ts';
import { readOptions } from './options.ts';
import { growthMax, printLatency } from './print/print-latency.ts';
import { ratioOf, verdictOf } from './ratio.ts';
import { callNames } from './system/nova-cycle.ts';

const cost = { writes: 1, reads: 1, messages: 0, jobs: 0 };
const counted = (): Costs => new Map([...callNames, 'consumers' as const].map((p) => [p, cost]));

it('refuses figures without any count for the consumers or for a request', () => {
  expect(() => refuseUncounted(counted())).not.toThrow();
  const withoutConsumers = counted();
  withoutConsumers.delete('consumers');
  expect(() => refuseUncounted(withoutConsumers)).toThrow('Nothing was counted for consumers');
  const withoutWrites = counted().set('consumers', { ...cost, writes: 0 });
  expect(() => refuseUncounted(withoutWrites)).toThrow('No write of the consumers');
  const withoutPatch = counted();
  withoutPatch.delete('PATCH');
  expect(() => refuseUncounted(withoutPatch)).toThrow('Nothing was counted for PATCH');
});

it('fails where a read of operators costs more than its target, or was not counted', () => {
  const cost = (large: number) => {
    const counted = [1, large].map((units) => ({ units, requests: 1, ms: 1 }));
    return [{ name: 'history', readsMax: 20, counted }];
  };
  expect(areWithin(cost(20))).toBe(true);
  expect(areWithin(cost(20.5))).toBe(false);
  expect(() => refuseUncountedReads(cost(1))).not.toThrow();
  expect(() => refuseUncountedReads(cost(0))).toThrow('Nothing was counted for history');
  const isMissing = [{ name: 'usage', counted: [{ units: 1, requests: 1, ms: 1 }] }];
  expect(() => refuseUncountedReads(isMissing)).toThrow('Nothing was counted for usage');
});

it('refuses times of a subject that was not measured', () => {
  const lists = () => Object.fromEntries(callNames.map((call) => [call, [1]]));
  const round = { concurrency: 1, cycles: 1, seconds: 1, samples: lists(), turnMedians: lists() };
  const subject = { title: '16 handles', api: {}, places: [] };
  const measured = (given: object) => [{ subject, rounds: [round], ...given }] as never;
  expect(() => refuseUnmeasured(measured({}))).not.toThrow();
  const empty = { rounds: [{ ...round, cycles: 0 }] };
  expect(() => refuseUnmeasured(measured(empty))).toThrow('16 handles was not measured: no server');
  const failed = { failure: 'PATCH answered 409' };
  expect(() => refuseUnmeasured(measured(failed))).toThrow('PATCH answered 409');
});

it('fails where stored ARQs make a call slower by more than a fifth', () => {
  const round = (ms: number) => {
    const lists = (value: number) =>
      Object.fromEntries(callNames.map((call) => [call, Array<number>(40).fill(value)]));
    const times = { ...lists(10), POST: Array<number>(40).fill(ms) };
    return { concurrency: 1, cycles: 40, seconds: 1, samples: times, turnMedians: times };
  };
  const measured = (ms: number) =>
    [10, ms].map((each) => ({
      subject: { title: `${each} ms`, api: {}, places: [] },
      rounds: [round(each)],
    })) as never;
  const printed = vi.spyOn(console, 'log').mockReturnValue();
  expect(printLatency(measured(11), growthMax)).toBe(true);
  expect(printLatency(measured(13), growthMax)).toBe(false);
  expect(printLatency(measured(13))).toBe(true);
  printed.mockRestore();
});

it('compares turn by turn, so that a disturbance of the machine is on both sides', () => {
  const base = [10, 10, 90, 95, 10, 10, 10, 10];
  const other = base.map((median) => median * 1.1);
  expect(ratioOf(base, other)?.median).toBeCloseTo(1.1);
  expect(ratioOf(base, other)?.most).toBeCloseTo(1.1);
  expect(ratioOf([], other)).toBeUndefined();
});

it('gives a verdict only if the spread allows one', () => {
  const spread = (least: number, most: number) => ({ least, median: (least + most) / 2, most });
  expect(verdictOf([spread(1, 1.1), spread(0.9, 1.2)], 1.2)).toBe('within');
  expect(verdictOf([spread(1, 1.1), spread(1.21, 1.3)], 1.2)).toBe('above');
  expect(verdictOf([spread(1, 1.1), spread(1.08, 1.34)], 1.2)).toBe('undecided');
  expect(verdictOf([], 1.2)).toBe('undecided');
});

it('accepts two servers, each with its own options or with shared ones', () => {
  const one = ['--url', 'http://127.0.0.1:1/v2', '--token', 't', '--host', 'h'];
  const both = [...one, '--url', 'http://127.0.0.1:2/v2', '--provider', 'p1', '--provider', 'p2'];
  const read = readOptions(both).foreign?.map(({ target, hostname, providerUuid }) => {
    return [target.url, target.token, hostname, providerUuid];
  });
  expect(read).toEqual([
    ['http://127.0.0.1:1/v2', 't', 'h', 'p1'],
    ['http://127.0.0.1:2/v2', 't', 'h', 'p2'],
  ]);
  expect(() => readOptions([...one, '--provider', 'p', '--provider', 'q'])).toThrow(
    '--provider may be given once for each --url.',
  );
});
