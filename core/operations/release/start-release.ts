import type { ConsumerDeps } from '../../consumer-deps.ts';
import type { JobStep } from '../../contracts/job-document.ts';
import { type JobKind, jobId } from '../../contracts/job-ids.ts';
import type { HostRelease } from '../../domain/arq.ts';
import type { StoredProvider } from '../../domain/bind-plan.ts';
import type { Device } from '../../domain/device.ts';
import { isSettling, settlingMs } from '../../domain/identity.ts';
import type { StoredHost } from '../../domain/report-plan.ts';
import { RetryLater } from '../../domain/retry-later.ts';
import { runProgram } from '../host-work/run-program.ts';

/**
 * Asks the host to clean up behind an instance. The instance's own job, where it may still be under way,
 * is cancelled first; what it had begun has ended when the host gets to ours.
 *
 * @throws RetryLater while AWS throttles, or an operator's image cannot be had
 */
export async function startRelease(deps: ConsumerDeps, releaseId: string): Promise<void> {
  const release = await deps.store.releases.byId(releaseId);
  if (!release) return;
  const { host, devices } = await deps.store.inventory.host(release.hostname);
  if (mustWait(deps, release, host)) return;
  if (release.program) return runProgram(deps, release);
  const ended = release.isPart ? undefined : release.bindId;
  if (ended) await endJob(deps, 'bind', ended);
  if (release.bootJob && (await isAlone(deps, release.bootJob))) {
    await endJob(deps, 'boot', release.bootJob);
  }
  const steps = await stepsFor(deps, release, devices);
  if (host.bootId === undefined || steps.length === 0) {
    await deps.store.releases.confirm(release);
    return;
  }
  const id = jobId(deps.settings.stage, 'free', release.id);
  await deps.clients.jobs.create(id, {
    version: 1,
    action: 'release',
    host: release.hostname,
    boot_id: host.bootId,
    ...(ended && { bind_id: ended }),
    ...(release.requestId && { request_id: release.requestId }),
    steps,
  });
  deps.log.info('The host was asked to clean up.', { job: id, host: release.hostname });
}

/**
 * While two agents report as the host, what one of them has cleaned up says nothing of the other: the
 * release's deadline puts the handles into quarantine.
 *
 * @throws RetryLater while the agent before the host's last boot may still live
 */
function mustWait(deps: ConsumerDeps, { id, hostname }: HostRelease, host: StoredHost): boolean {
  if (host.conflict) {
    deps.log.warn('A host in conflict is not asked to clean up.', { host: hostname, release: id });
    return true;
  }
  if (!isSettling(host, deps.clock())) return false;
  throw new RetryLater(`Host ${hostname} has just booted.`, settlingMs / 1000);
}

async function endJob(deps: ConsumerDeps, kind: JobKind, uuid: string): Promise<void> {
  await deps.clients.jobs.cancel(jobId(deps.settings.stage, kind, uuid), 'The bind has ended.');
  await deps.store.arqs.forgetJob(uuid);
}

/** Where others' devices are made by the same job, it goes on; regions are never programmed by such. */
async function isAlone(deps: ConsumerDeps, jobUuid: string): Promise<boolean> {
  const note = await deps.store.arqs.jobNote(jobUuid);
  return note?.instances.length === 1;
}

async function stepsFor(
  deps: ConsumerDeps,
  release: HostRelease,
  devices: readonly Device[],
): Promise<JobStep[]> {
  const addresses = new Map(devices.map((device) => [device.uuid as string, device.address]));
  const steps = await Promise.all(
    release.handles.map(async ({ providerUuid, handleUuid }): Promise<JobStep[]> => {
      const provider = await deps.store.inventory.provider(providerUuid);
      const handle = provider?.handles.find(({ uuid }) => uuid === handleUuid);
      const address = addresses.get(provider?.deployable.deviceUuid ?? '');
      // A device that its host no longer has holds nothing.
      if (!handle || !address || handle.release !== release.id) return [];
      // Whose it is by now is not known. Once it is, and nobody's, reinstate-handles.ts has it cleaned up.
      if (handle.restoredAt !== undefined) return [];
      const step = { address, ...(release.bindId && { bind_id: release.bindId }) };
      const type = handle.info.asked_type;
      if (handle.type === 'MDEV' && type !== undefined) {
        return [{ kind: 'remove-mdev', ...step, uuid: handle.uuid, type, epoch: handle.epoch }];
      }
      const region = provider && (await regionLeft(deps, provider, release));
      return [{ kind: 'settle', ...step, ...(region && { region }) }];
    }),
  );
  return steps.flat();
}

/** The region that the bind holds no longer, through this handle or another. */
async function regionLeft(
  deps: ConsumerDeps,
  { deployable, handles }: StoredProvider,
  { bindId, isPart }: HostRelease,
): Promise<string | undefined> {
  if (!isPart || deployable.region === undefined) return deployable.region;
  const holders = await deps.store.arqs.byUuids(
    handles.flatMap(({ claim }) => claim?.arqUuid ?? []),
  );
  const isHeld = [...holders.values()].some(({ binding }) => binding?.bindId === bindId);
  return isHeld ? undefined : deployable.region;
}
