import { type ConsumerDeps, createConsumerDeps } from '#core/consumer-deps.ts';
import { reconcile } from '#core/operations/reconcile.ts';
import { sweep } from '#core/operations/sweep.ts';

let deps: ConsumerDeps | undefined;

/** Every minute → enforce deadlines, and have some of the devices compared with Placement. */
export async function handler(): Promise<void> {
  deps ??= createConsumerDeps('sweep');
  // Whatever became of the deadlines.
  await sweep(deps).finally(() => reconcile(deps as ConsumerDeps));
}
