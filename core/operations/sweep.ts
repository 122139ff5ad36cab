import type { Deps } from '../deps.ts';
import type { ArqUuid } from '../domain/ids.ts';

/** Enforces deadlines; everything else follows from the streams. */
export async function sweep(deps: Deps): Promise<void> {
  const now = new Date(deps.clock()).toISOString();
  const overdue = await deps.listings.overdueArqs(now);
  let deleted = 0;
  for (const { uuid } of overdue) {
    // The index may lag: the write itself makes sure that the ARQ was not bound meanwhile.
    if (await deps.store.arqs.deleteUnbound(uuid as ArqUuid)) deleted++;
  }
  if (deleted > 0) deps.log.info('Deleted ARQs that were never bound.', { count: deleted });
}
