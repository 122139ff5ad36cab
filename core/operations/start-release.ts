import type { ConsumerDeps } from '../consumer-deps.ts';
import type { JobStep } from '../contracts/job-document.ts';
import { jobId } from '../contracts/job-ids.ts';
import type { HostRelease } from '../domain/arq.ts';
import type { Device } from '../domain/device.ts';
import { runProgram } from './run-program.ts';

/**
 * Asks the host to clean up behind an instance. The bind's own job, where it may still be under way, is
 * cancelled first; what it had begun has ended when the host gets to ours.
 *
 * @throws RetryLater while AWS throttles, or an operator's image cannot be had
 */
export async function startRelease(deps: ConsumerDeps, releaseId: string): Promise<void> {
  const release = await deps.store.releases.byId(releaseId);
  if (!release) return;
  if (release.program) return runProgram(deps, release);
  const { stage } = deps.settings;
  if (release.bindId) {
    await deps.clients.jobs.cancel(jobId(stage, 'bind', release.bindId), 'The bind has ended.');
    await deps.store.arqs.forgetJob(release.bindId);
  }
  const { host, devices } = await deps.store.inventory.host(release.hostname);
  const steps = await stepsFor(deps, release, devices);
  if (host.bootId === undefined || steps.length === 0) {
    await deps.store.releases.confirm(release);
    return;
  }
  const id = jobId(stage, 'free', release.id);
  await deps.clients.jobs.create(id, {
    version: 1,
    action: 'release',
    host: release.hostname,
    boot_id: host.bootId,
    ...(release.bindId && { bind_id: release.bindId }),
    ...(release.requestId && { request_id: release.requestId }),
    steps,
  });
  deps.log.info('The host was asked to clean up.', { job: id, host: release.hostname });
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
      const type = handle.info.asked_type;
      return handle.type === 'MDEV' && type !== undefined
        ? [{ kind: 'remove-mdev', address, uuid: handle.uuid, type }]
        : [{ kind: 'settle', address }];
    }),
  );
  return steps.flat();
}
