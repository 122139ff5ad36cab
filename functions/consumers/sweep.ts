import { type ConsumerDeps, createConsumerDeps } from '#core/consumer-deps.ts';
import { reap } from '#core/operations/reap.ts';
import { sweep } from '#core/operations/sweep.ts';

let deps: ConsumerDeps | undefined;

/** Every minute → enforce deadlines, and look for what is held by nobody. */
export async function handler(): Promise<void> {
  deps ??= createConsumerDeps('sweep');
  // Whatever became of the deadlines.
  await sweep(deps).finally(() => reap(deps as ConsumerDeps));
}
