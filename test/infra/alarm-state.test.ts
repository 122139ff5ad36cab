// The evaluator of alarms, with which the plays in test/operate decide between ALARM and OK.

import { expect, it } from 'vitest';
import { type AlarmOfTemplate, type Sample, stateOf } from '#test/support/aws/alarm-state.ts';

const of = (values: readonly number[], given: Partial<Sample> = {}): Sample[] =>
  values.map((value) => ({
    namespace: 'N',
    name: 'M',
    dimensions: { a: '1', b: '2' },
    value,
    at: 60_000,
    ...given,
  }));
const alarm: AlarmOfTemplate = {
  Namespace: 'N',
  MetricName: 'M',
  Dimensions: [
    { Name: 'b', Value: '2' },
    { Name: 'a', Value: '1' },
  ],
  Period: 60,
  Statistic: 'Sum',
  Threshold: 3,
  EvaluationPeriods: 1,
  ComparisonOperator: 'GreaterThanOrEqualToThreshold',
  TreatMissingData: 'notBreaching',
};
const math = (Expression: string): AlarmOfTemplate => {
  const { Namespace, MetricName, Dimensions, Period, Statistic, ...rest } = alarm;
  const stat = (Id: string, name: string) => ({
    Id,
    MetricStat: { Metric: { Namespace: 'N', MetricName: name }, Period: 60, Stat: 'Sum' },
  });
  return { ...rest, Metrics: [{ Id: 'e', Expression }, stat('x', 'X'), stat('y', 'Y')] };
};
const named = (name: string, value: number) => of([value], { name, dimensions: {} });

it.each<[string, AlarmOfTemplate, Sample[], 'ALARM' | 'OK']>([
  ['the sum reaches the threshold', alarm, of([1, 2]), 'ALARM'],
  ['the sum stays below it', alarm, of([1, 1]), 'OK'],
  ['there is no data', alarm, [], 'OK'],
  ['the metric has another name', alarm, of([9], { name: 'Other' }), 'OK'],
  ['the metric has another namespace', alarm, of([9], { namespace: 'Other' }), 'OK'],
  ['a dimension is missing', alarm, of([9], { dimensions: { a: '1' } }), 'OK'],
  ['there is one dimension more', alarm, of([9], { dimensions: { a: '1', b: '2', c: '' } }), 'OK'],
  ['the data is of an earlier period', alarm, of([9], { at: 0 }), 'OK'],
  ['the maximum stays below it', { ...alarm, Statistic: 'Maximum' }, of([2, 2]), 'OK'],
  [
    'one of ten is high, of p90',
    { ...alarm, Statistic: 'p90' },
    of([...Array(9).fill(1), 9]),
    'OK',
  ],
  [
    'two of ten are high, of p90',
    { ...alarm, Statistic: 'p90' },
    of([...Array(8).fill(1), 9, 9]),
    'ALARM',
  ],
  ['one of two periods breaches', { ...alarm, EvaluationPeriods: 2 }, of([9]), 'OK'],
  [
    'two of two periods breach',
    { ...alarm, EvaluationPeriods: 2 },
    [...of([9]), ...of([9], { at: 0 })],
    'ALARM',
  ],
  [
    'missing data are ignored',
    { ...alarm, TreatMissingData: 'ignore' },
    of([9], { at: 0 }),
    'ALARM',
  ],
  ['missing data are not', alarm, of([9], { at: 0 }), 'OK'],
  ['a sum lacks one metric', math('SUM([x, y])'), named('X', 3), 'ALARM'],
  ['a difference lacks one metric', math('x - y'), named('X', 3), 'OK'],
  ['a filled difference lacks one metric', math('x - FILL(y, 0)'), named('X', 3), 'ALARM'],
  ['a condition holds', math('IF(x >= 1 AND FILL(y, 0) < 1, 3, 0)'), named('X', 1), 'ALARM'],
  [
    'a condition fails',
    math('IF(x >= 1 AND FILL(y, 0) < 1, 3, 0)'),
    [...named('X', 1), ...named('Y', 1)],
    'OK',
  ],
])('is right where %s', (_, given, samples, state) => {
  expect(stateOf(given, samples, 60_000)).toBe(state);
});

it.each<[string, AlarmOfTemplate]>([
  ['another comparison', { ...alarm, ComparisonOperator: 'LessThanThreshold' }],
  ['another treatment of missing data', { ...alarm, TreatMissingData: 'breaching' }],
  ['an unknown statistic', { ...alarm, Statistic: 'SampleCount' }],
  ['an unknown function', math('RATE(x)')],
])('refuses %s instead of a wrong answer', (_, given) => {
  const samples = [...of([9]), ...named('X', 9)];
  expect(() => stateOf(given, samples, 60_000)).toThrow(/Unknown|not defined/);
});
