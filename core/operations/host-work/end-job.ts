import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { jobId } from '#core/contracts/jobs/job-ids.ts';
import type { HostWorkKind } from '#core/domain/host-work/host-work.ts';

/** Cancels the job of a bind and forgets for which instances it works. */
export async function endJob(deps: ConsumerDeps, kind: HostWorkKind, uuid: string): Promise<void> {
  await deps.clients.jobs.cancel(jobId(deps.settings.stage, kind, uuid), 'The bind has ended.');
  await deps.store.arqs.forgetJob(uuid);
}
