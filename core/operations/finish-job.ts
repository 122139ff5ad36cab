import type { ConsumerDeps } from '../consumer-deps.ts';
import type { JobEvent } from '../contracts/job-document.ts';
import { type JobKind, readJobId } from '../contracts/job-ids.ts';
import { failBind, succeedBind } from './finish-bind.ts';

/**
 * A job has ended on its host. Events come at least once and in any order; what they are about says,
 * by its own state, whether they still mean anything.
 */
export async function finishJob(deps: ConsumerDeps, event: JobEvent): Promise<void> {
  const job = readJobId(deps.settings.stage, event.jobId);
  if (!job) return;
  await finish[job.kind](deps, job.uuid, event);
}

type Finish = (deps: ConsumerDeps, uuid: string, event: JobEvent) => Promise<void>;

const finish: Readonly<Record<JobKind, Finish>> = {
  bind: finishBinds,
  boot: finishBinds,

  async free(deps, releaseId, event) {
    const release = await deps.store.releases.byId(releaseId);
    if (!release) return;
    if (event.operation === 'succeeded') {
      await deps.store.releases.confirm(release);
      deps.log.info('The host has cleaned up.', { host: release.hostname, release: releaseId });
      return;
    }
    await deps.store.releases.quarantine(release, reasonOf(event));
    deps.log.error('The host could not clean up.', {
      host: release.hostname,
      release: releaseId,
      reason: reasonOf(event),
    });
  },

  // The report that follows says all there is to say.
  look: async () => {},
  prog: async () => {},
};

/** What was made ready, at first or again after a boot, is bound; what was not, is not. */
async function finishBinds(deps: ConsumerDeps, jobUuid: string, event: JobEvent): Promise<void> {
  for (const instanceUuid of await deps.store.arqs.instancesOfJob(jobUuid)) {
    const binding = await deps.store.arqs.binding(instanceUuid);
    if (binding?.state !== 'BindStarted' && binding?.state !== 'provisioning') continue;
    // A bind's job is its own; an instance that was bound anew waits for another.
    if (binding.state === 'BindStarted' && binding.bindId !== jobUuid) continue;
    if (event.operation === 'succeeded') await succeedBind(deps, binding);
    else await failBind(deps, binding, reasonOf(event));
  }
  await deps.store.arqs.forgetJob(jobUuid);
}

function reasonOf({ operation, statusDetails }: JobEvent): string {
  return statusDetails?.reason ?? `The host's job ended ${operation}.`;
}
