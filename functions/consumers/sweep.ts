import { type ConsumerDeps, createConsumerDeps } from '#core/consumer-deps.ts';
import { reconcile } from '#core/operations/placement/reconcile.ts';
import { reap } from '#core/operations/release/reap.ts';
import { sweep } from '#core/operations/sweep.ts';

let deps: ConsumerDeps | undefined;

/**
 * Every minute → enforce deadlines, release bindings of unused instances, and have some of the
 * devices compared with Placement. Each part runs even if the part before has failed.
 */
export async function handler(): Promise<void> {
  deps ??= createConsumerDeps('sweep');
  const own = deps;
  await sweep(own)
    .finally(() => reap(own))
    .finally(() => reconcile(own));
}
