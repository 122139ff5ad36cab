import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { expose } from '#core/contracts/exposition.ts';
import { openMetrics } from '#core/domain/fleet/open-metrics.ts';
import { action } from '#functions/http/action.ts';

/** What the sweep has measured of all hosts, as Prometheus reads it. */
export const getMetrics = action<Record<string, never>, undefined, ConsumerDeps>(
  { answers: { 200: null }, answersAs: 'application/openmetrics-text' },
  async ({ deps, headers }) => {
    const { fleet } = deps.store;
    const parts = await Promise.all([fleet.read('complete'), fleet.read('minute')]);
    const samples = parts.flatMap((part) => part?.samples ?? []);
    const { contentType, text } = expose(openMetrics, samples, headers.accept);
    return {
      headers: { 'content-type': contentType, vary: 'Accept' },
      bytes: new TextEncoder().encode(text),
    };
  },
);
