import type { MetricValue } from '../../contracts/metrics.ts';
import type { DomainEvent } from '../../domain/domain-events.ts';

/** Of each name and dimension one value, of latencies each by itself. */
export function sumOf(all: readonly MetricValue[]): MetricValue[] {
  const counts = all.filter(({ name }) => name !== 'BindLatency');
  const sums = [...Map.groupBy(counts, ({ name, of }) => `${name} ${of}`).values()].map(
    (alike) => ({
      ...(alike[0] as MetricValue),
      value: alike.reduce((sum, { value }) => sum + value, 0),
    }),
  );
  return [...sums, ...all.filter(({ name }) => name === 'BindLatency')];
}

/** What a fact adds to the metrics. */
export function valuesOf(fact: DomainEvent): MetricValue[] {
  switch (fact.kind) {
    case 'bound': {
      const { how, tookMs, binding } = fact;
      const bound = { name: 'ArqsBound', of: how, value: binding.arqUuids.length } as const;
      // What waited for nobody was bound in the claim itself.
      return how === 'at-once' ? [bound] : [bound, { name: 'BindLatency', of: how, value: tookMs }];
    }
    case 'failed':
      return [{ name: 'ArqsFailed', of: fact.cause, value: fact.binding.arqUuids.length }];
    case 'released':
      return [{ name: 'ArqsReleased', value: fact.arqUuids.length }];
    case 'quarantined':
      return [{ name: 'QuarantinesBegun', value: 1 }];
    case 'device-added':
      return [{ name: 'DevicesAdded', value: 1 }];
    case 'device-removed':
      return [{ name: 'DevicesRemoved', value: 1 }];
    case 'device-in-conflict':
      // Of its host all are; the reports that were not applied are counted.
      return [];
  }
}
