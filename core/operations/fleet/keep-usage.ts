import type { ConsumerDeps } from '#core/consumer-deps.ts';

/** Keeps the usage of the last hours, so that requests need not count it. */
export function keepUsage({ store, clock }: ConsumerDeps): Promise<void> {
  return store.usageSums.keepHours(clock());
}
