import { type ConsumerDeps, createConsumerDeps } from '#core/consumer-deps.ts';
import { sweep } from '#core/operations/sweep.ts';

let deps: ConsumerDeps | undefined;

/** Every minute → enforce deadlines. */
export async function handler(): Promise<void> {
  deps ??= createConsumerDeps('sweep');
  await sweep(deps);
}
