import type { Deps } from '#core/deps.ts';
import { countedClass } from '#core/domain/quota/quota.ts';
import { readArqs } from './recount.ts';

/** The project's ARQs by resource class, whether or not a quota limits the class. */
export async function countProjectUse(
  deps: Deps,
  projectId: string,
): Promise<Readonly<Record<string, number>>> {
  const arqs = await readArqs(deps, projectId);
  const byClass = Map.groupBy(arqs.values(), ({ group }) => countedClass(group));
  return Object.fromEntries(
    [...byClass].map(([resourceClass, { length }]): [string, number] => [resourceClass, length]),
  );
}
