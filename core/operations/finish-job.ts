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
  async bind(deps, bindId, event) {
    const instanceUuid = await deps.store.arqs.instanceOfBind(bindId);
    if (!instanceUuid) return;
    const binding = await deps.store.arqs.binding(instanceUuid);
    if (binding?.bindId === bindId && binding.state === 'BindStarted') {
      if (event.operation === 'succeeded') await succeedBind(deps, binding);
      else await failBind(deps, binding, reasonOf(event));
    }
    await deps.store.arqs.forgetBind(bindId);
  },

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

  prog: async () => {},
  boot: async () => {},
  look: async () => {},
};

function reasonOf({ operation, statusDetails }: JobEvent): string {
  return statusDetails?.reason ?? `The host's job ended ${operation}.`;
}
