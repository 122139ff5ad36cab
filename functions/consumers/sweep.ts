import { createDeps, type Deps } from '#core/deps.ts';
import { sweep } from '#core/operations/sweep.ts';

let deps: Deps | undefined;

/** Every minute → enforce deadlines. */
export async function handler(): Promise<void> {
  deps ??= createDeps('sweep');
  await sweep(deps);
}
