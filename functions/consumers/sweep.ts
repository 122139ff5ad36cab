import { type ConsumerDeps, createConsumerDeps } from '#core/consumer-deps.ts';
import { reconcile } from '#core/operations/placement/reconcile.ts';
import { lookAtTrees } from '#core/operations/placement/restore-tree.ts';
import { reap } from '#core/operations/release/reap.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';

let deps: ConsumerDeps | undefined;

/**
 * Every minute → enforces deadlines, releases bindings of unused instances, compares some devices
 * with Placement, and looks at the trees of some hosts. Each part runs even if an earlier part has
 * failed.
 */
export async function handler(): Promise<void> {
  deps ??= createConsumerDeps('sweep');
  const own = deps;
  await sweep(own)
    .finally(() => reap(own))
    .finally(() => reconcile(own))
    .finally(() => lookAtTrees(own));
}
