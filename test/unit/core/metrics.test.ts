// What CloudWatch reads from the log, line by line.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { metrics as table } from '#core/contracts/metrics.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import type { DomainEvent } from '#core/domain/outbox/domain-events.ts';
import { createMetrics } from '#core/metrics.ts';
import { sumMetrics, toMetrics } from '#core/operations/outbox/count-changes.ts';
import { aBinding, aStoredDevice, aStoredHandle } from '#test/support/builders.ts';

const two = ['arq-1', 'arq-2'] as ArqUuid[];
const written: string[] = [];
beforeEach(() => {
  written.length = 0;
  vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'false');
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const lines = () => written.map((line) => JSON.parse(line));

it('are lines with the stage and at most one dimension more', () => {
  createMetrics('test').put([
    { name: 'ArqsFailed', dimension: 'image', value: 2 },
    { name: 'ArqsFailed', dimension: 'deadline', value: 1 },
    { name: 'DevicesAdded', value: 3 },
  ]);
  const of = (name: string, dimensions: string[]) => ({
    Timestamp: expect.any(Number),
    CloudWatchMetrics: [
      {
        Namespace: 'Cyborg',
        Dimensions: [['service', 'stage', ...dimensions]],
        Metrics: [{ Name: name, Unit: 'Count' }],
      },
    ],
  });
  const common = { service: 'cyborg', stage: 'test' };
  expect(lines()).toEqual([
    { _aws: of('ArqsFailed', ['cause']), ...common, cause: 'image', ArqsFailed: 2 },
    { _aws: of('ArqsFailed', ['cause']), ...common, cause: 'deadline', ArqsFailed: 1 },
    { _aws: of('DevicesAdded', []), ...common, DevicesAdded: 3 },
  ]);
});

it('have the time that they are given', () => {
  const at = Date.now() - 60_000;
  const metrics = createMetrics('test');
  metrics.put([{ name: 'Hosts', dimension: 'present', value: 1 }], at);
  metrics.put([{ name: 'DevicesAdded', value: 1 }]);
  const [first, second] = lines();
  expect(first._aws.Timestamp).toBe(at);
  expect(second._aws.Timestamp).toBeGreaterThan(at);
});

it('write no line without a value', () => {
  createMetrics('test').put([]);
  expect(written).toEqual([]);
});

it('are summed over a batch, with each latency kept', () => {
  const binding = aBinding();
  const device = aStoredDevice();
  const facts: DomainEvent[] = [
    { kind: 'bound', binding, how: 'by-host', tookMs: 100 },
    { kind: 'bound', binding, how: 'by-host', tookMs: 300 },
    { kind: 'bound', binding, how: 'at-once', tookMs: 0 },
    { kind: 'device-added', device },
    { kind: 'device-added', device },
  ];
  expect(sumMetrics(facts.flatMap(toMetrics))).toEqual([
    { name: 'ArqsBound', dimension: 'by-host', value: 2 },
    { name: 'ArqsBound', dimension: 'at-once', value: 1 },
    { name: 'DevicesAdded', value: 2 },
    { name: 'BindLatency', dimension: 'by-host', value: 100 },
    { name: 'BindLatency', dimension: 'by-host', value: 300 },
  ]);
});

it.each<[DomainEvent, ReturnType<typeof toMetrics>]>([
  [
    { kind: 'failed', binding: aBinding({ arqUuids: two }), cause: 'host' },
    [{ name: 'ArqsFailed', dimension: 'host', value: 2 }],
  ],
  [{ kind: 'released', binding: aBinding(), arqUuids: two }, [{ name: 'ArqsReleased', value: 2 }]],
  [
    { kind: 'quarantined', handle: aStoredHandle(), reason: 'not confirmed' },
    [{ name: 'QuarantinesBegun', value: 1 }],
  ],
  [
    {
      kind: 'device-not-attached',
      device: aStoredDevice(),
      fault: {
        kind: 'not-bound',
        unit: '0000:01:00.0',
        since: 'then',
        instanceUuid: aBinding().instanceUuid,
      },
    },
    [{ name: 'DevicesNotAttached', value: 1 }],
  ],
  [{ kind: 'device-health', device: aStoredDevice() }, []],
  [{ kind: 'device-removed', device: aStoredDevice() }, [{ name: 'DevicesRemoved', value: 1 }]],
])('count $kind', (fact, values) => {
  expect(toMetrics(fact)).toEqual(values);
});

it('make at most sixty-four metrics of a stage', () => {
  const dimensions = table.map((row) => ('dimension' in row ? row.dimension.values.length : 1));
  expect(dimensions.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(64);
});
