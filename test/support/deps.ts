// Deps for unit tests, with only those that the subject uses.

import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { MetricValue } from '#core/contracts/metrics.ts';
import { silentLog } from '#core/log.ts';
import { type Metrics, noMetrics } from '#core/metrics.ts';
import { loadSettings } from '#core/settings.ts';

type Partly<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends object
    ? { readonly [Key in keyof T]?: Partly<T[Key]> }
    : T;

export const someSettings = loadSettings({
  CYBORG_STAGE: 'test',
  KEYSTONE_URL: 'http://127.0.0.1:1/v3',
  CYBORG_OS_PASSWORD: 'secret',
});

/** Use of a dep that was not given fails the test with a TypeError. */
export function someDeps(given: Partly<ConsumerDeps>): ConsumerDeps {
  return {
    settings: someSettings,
    log: silentLog,
    metrics: noMetrics,
    clock: () => Date.parse('2026-07-01T01:02:03.000Z'),
    ...given,
  } as ConsumerDeps;
}

/** Metrics that keep their values. */
export function countingMetrics(): { readonly metrics: Metrics; readonly counted: MetricValue[] } {
  const counted: MetricValue[] = [];
  return { metrics: { put: (values) => void counted.push(...values) }, counted };
}

type Changed<T> = { readonly [Key in keyof T]?: Partial<T[Key]> };

/** The deps, with these operations of the store in place of its own. */
export function withStore<T extends Pick<ConsumerDeps, 'store'>>(
  deps: T,
  changed: Changed<ConsumerDeps['store']>,
): T {
  return { ...deps, store: overlay(deps.store, changed) };
}

/** The deps, with these calls of clients in place of their own. */
export function withClients<T extends Pick<ConsumerDeps, 'clients'>>(
  deps: T,
  changed: Changed<ConsumerDeps['clients']>,
): T {
  return { ...deps, clients: overlay(deps.clients, changed) };
}

function overlay<T extends object>(parts: T, changed: Changed<T>): T {
  const entries = Object.entries(changed) as [keyof T, object][];
  const merged = entries.map(([name, part]) => [name, { ...parts[name], ...part }]);
  return { ...parts, ...Object.fromEntries(merged) };
}
