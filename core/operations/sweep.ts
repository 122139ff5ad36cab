import type { ConsumerDeps } from '../consumer-deps.ts';
import { jobId } from '../contracts/job-ids.ts';
import type { InstanceBinding } from '../domain/arq.ts';
import { bindDueMs, failedBindKeptMs, provisioningDueMs } from '../domain/deadlines.ts';
import type { ArqUuid } from '../domain/ids.ts';
import type { DueKind } from '../store/shards.ts';
import { failBind } from './bind/finish-bind.ts';
import { reprovisionInstance } from './host-work/after-reboot.ts';
import { askAboutJob } from './host-work/ask-about-job.ts';
import { releaseDeadlineSeconds } from './release/cleaning.ts';
import { quarantine } from './release/quarantine.ts';
import { releaseArqs } from './release/release-arqs.ts';
import { retryCleaning } from './release/retry-cleaning.ts';

/** Longer than AWS takes for the jobs of all hosts, when all have booted at once. */
const askAgainMs = 60 * 60_000;

/** Longer than this the sweep does not begin another page: the next one is a minute away. */
const beginsWithinMs = 40_000;

/**
 * Enforces deadlines; everything else follows from the streams. The index may lag: each of these reads
 * or conditions on the row itself, so that what has ended meanwhile stays as it is.
 *
 * @throws the first fault, when everything else has been done
 */
export async function sweep(deps: ConsumerDeps): Promise<void> {
  const now = new Date(deps.clock()).toISOString();
  const faults: unknown[] = [];
  // Nova waits for binds, and the next claim for releases; ARQs that nobody bound can wait.
  for (const kind of ['binding', 'release', 'arq'] as const) {
    await sweepKind(deps, kind, now, faults);
  }
  if (faults.length > 0) throw faults[0];
}

async function sweepKind(
  deps: ConsumerDeps,
  kind: DueKind,
  now: string,
  faults: unknown[],
): Promise<void> {
  const startedAt = deps.clock();
  const seen = new Set<string>();
  const asked = new Map<string, number>();
  while (deps.clock() - startedAt < beginsWithinMs) {
    const overdue = (await deps.listings.overdue(kind, now)).filter((uuid) => !seen.has(uuid));
    if (overdue.length === 0) return;
    for (const uuid of overdue) {
      seen.add(uuid);
      try {
        await end[kind](deps, uuid, asked);
      } catch (error) {
        faults.push(error);
        deps.log.error('A deadline could not be enforced.', { kind, uuid, error });
      }
    }
  }
}

/** @param asked by host, how often it was asked in this run to clean up again */
type End = (deps: ConsumerDeps, uuid: string, asked: Map<string, number>) => Promise<void>;

const end: Readonly<Record<DueKind, End>> = {
  async arq(deps, uuid) {
    if (await deps.store.arqs.deleteUnbound(uuid as ArqUuid)) {
      deps.log.info('Deleted an ARQ that was never bound.', { arq: uuid });
    }
  },

  async binding(deps, instanceUuid) {
    const binding = await deps.store.arqs.binding(instanceUuid);
    if (binding?.state === 'provisioning') await endProvisioning(deps, binding);
    if (binding?.state === 'BindFailed') await forgetFailedBind(deps, binding);
    if (binding?.state !== 'BindStarted') return;
    const { bindDeadlineSeconds } = deps.settings;
    const waitedMs = deps.clock() - Date.parse(binding.startedAt);
    if (waitedMs < bindDueMs(bindDeadlineSeconds)) return;
    if ((await askAboutJob(deps, 'bind', binding.bindId, binding.hostname)) === 'ended') return;
    const waited = Math.round(waitedMs / 1000);
    const reason = `Host ${binding.hostname} did not make it ready within ${waited} s.`;
    await failBind(deps, binding, { cause: 'deadline', reason });
  },

  async release(deps, releaseId, asked) {
    const release = await deps.store.releases.byId(releaseId);
    if (!release) return;
    if (release.quarantine) return retryCleaning(deps, release, asked);
    const kind = release.program ? 'prog' : 'free';
    if ((await askAboutJob(deps, kind, releaseId, release.hostname)) === 'ended') return;
    // What its host has not begun by now it is not to begin below whoever has the region next.
    if (release.program) {
      await deps.clients.jobs.cancel(
        jobId(deps.settings.stage, kind, releaseId),
        'It is too late.',
      );
    }
    const reason = `Host ${release.hostname} did not confirm within ${releaseDeadlineSeconds} s.`;
    await deps.store.regions.endProgram(release, 'failed', reason);
    await quarantine(deps, release, reason);
    deps.log.error('Handles are in quarantine.', {
      host: release.hostname,
      release: releaseId,
      handles: release.handles.length,
      ...(release.requestId && { request_id: release.requestId }),
    });
  },
};

/**
 * Its ARQs hold no device, and Nova has deleted them by now unless the delete did not reach us. Those of a
 * server that lost its device by a reboot of its host are kept: a host has that server, and its ARQs say
 * why it has no device.
 */
async function forgetFailedBind(deps: ConsumerDeps, binding: InstanceBinding): Promise<void> {
  const now = deps.clock();
  const failedMs = Date.parse(binding.resolvedAt ?? binding.startedAt);
  if (now - failedMs < failedBindKeptMs) return;
  const server = await deps.clients.nova.server(binding.instanceUuid);
  if (server !== 'not-found' && server.host !== null) {
    await deps.store.bindings.postpone(binding, new Date(now + failedBindKeptMs).toISOString());
    return;
  }
  await releaseArqs(deps, binding.instanceUuid, 'all', 'deleted', binding);
  deps.log.info('Deleted ARQs of a bind that failed.', {
    instance: binding.instanceUuid,
    arqs: binding.arqUuids,
  });
}

/** It lasts as long as its host's job; whether that has ended is asked from time to time. */
async function endProvisioning(deps: ConsumerDeps, binding: InstanceBinding): Promise<void> {
  const { jobUuid, hostname } = binding;
  const note = jobUuid && (await deps.store.arqs.jobNote(jobUuid));
  if (!note) {
    // Whoever decided on the job died before it was made, or did so under a boot that was over.
    const { host } = await deps.store.inventory.host(hostname);
    return reprovisionInstance(deps, host, binding);
  }
  const standing = await askAboutJob(deps, 'boot', jobUuid, hostname);
  if (standing === 'ended') return;
  // What its message waited for may have been away for longer than messages come again.
  const waitedMs = deps.clock() - Date.parse(binding.startedAt);
  const isGivenUp = standing === 'absent' && waitedMs >= askAgainMs;
  if (isGivenUp) await deps.queues.send('host-jobs', [{ kind: 'boot', job_uuid: jobUuid }]);
  const dueMs = isGivenUp ? askAgainMs : provisioningDueMs;
  await deps.store.bindings.postpone(binding, new Date(deps.clock() + dueMs).toISOString());
}
