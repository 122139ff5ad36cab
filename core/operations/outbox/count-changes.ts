import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { MetricValue } from '#core/contracts/metrics.ts';
import type { DomainEvent } from '#core/domain/outbox/domain-events.ts';

/** Counts what has happened, in one line of the log for each dimension. */
export function countEvents(
  metrics: ConsumerDeps['metrics'],
  events: readonly DomainEvent[],
): void {
  metrics.put(sumMetrics(events.flatMap(toMetrics)));
}

/** One sum for each name and dimension; each latency by itself. */
export function sumMetrics(all: readonly MetricValue[]): MetricValue[] {
  const counts = all.filter(({ name }) => name !== 'BindLatency');
  const sums = [
    ...Map.groupBy(counts, ({ name, dimension }) => `${name} ${dimension}`).values(),
  ].map((alike) => ({
    ...(alike[0] as MetricValue),
    value: alike.reduce((sum, { value }) => sum + value, 0),
  }));
  return [...sums, ...all.filter(({ name }) => name === 'BindLatency')];
}

/** What a domain event adds to the metrics. */
export function toMetrics(event: DomainEvent): MetricValue[] {
  switch (event.kind) {
    case 'bound': {
      const { how, tookMs, binding } = event;
      const bound = { name: 'ArqsBound', dimension: how, value: binding.arqUuids.length } as const;
      // A bind without work for the host is Bound in the claim, and has no latency.
      return how === 'at-once'
        ? [bound]
        : [bound, { name: 'BindLatency', dimension: how, value: tookMs }];
    }
    case 'failed':
      return [{ name: 'ArqsFailed', dimension: event.cause, value: event.binding.arqUuids.length }];
    case 'released':
      return [{ name: 'ArqsReleased', value: event.arqUuids.length }];
    case 'quarantined':
      return [{ name: 'QuarantinesBegun', value: 1 }];
    case 'device-added':
      return [{ name: 'DevicesAdded', value: 1 }];
    case 'device-not-attached':
      return [{ name: 'DevicesNotAttached', value: 1 }];
    case 'device-removed':
      return [{ name: 'DevicesRemoved', value: 1 }];
    case 'device-health':
    case 'device-in-conflict':
      // The sweep counts unhealthy devices. All devices of a host are in conflict: the reports
      // that are not applied are counted instead.
      return [];
  }
}
