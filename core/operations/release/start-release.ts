import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { JobStep } from '#core/contracts/jobs/job-document.ts';
import { answerWithinSeconds } from '#core/contracts/jobs/work-message.ts';
import type { Deployable, Device } from '#core/domain/device/device.ts';
import { takesLong } from '#core/domain/device/handle-state.ts';
import type { HostRelease } from '#core/domain/host-work/host-work.ts';
import { wayFor } from '#core/domain/host-work/ways.ts';
import { askByMessage } from '#core/operations/host-work/ask-by-message.ts';
import { askHost } from '#core/operations/host-work/ask-host.ts';
import { endJob } from '#core/operations/host-work/end-job.ts';
import { mustWait } from '#core/operations/host-work/must-wait.ts';
import { stepPlace, toStepHandle } from '#core/operations/host-work/programs/step-place.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { present } from '#core/shapes/derive/present.ts';

/**
 * Asks the host to clean up behind an instance: by a message, or by a job for what takes long. The
 * job that prepares the instance may be under way: it is cancelled first, and the host ends it
 * before it begins the release. A job that is shared with others goes on; the agent refuses what
 * of it comes after the release.
 *
 * @param wasSent the host has not answered the message in time
 * @throws RetryLater while AWS throttles, or the host has just booted
 */
export async function startRelease(
  deps: ConsumerDeps,
  releaseId: string,
  wasSent = false,
): Promise<void> {
  const release = await deps.store.releases.release(releaseId);
  if (!release) return;
  const { hostname, reprovisionJob, requestId } = release;
  const { host, devices } = await deps.store.inventory.host(hostname);
  if (mustWait(deps, release, host)) return;
  const ended = release.isPart ? undefined : release.bindId;
  // Without a note there is no job, or it has ended.
  if (ended && (await deps.store.arqs.jobNote(ended))) await endJob(deps, 'bind', ended);
  if (reprovisionJob && (await isAlone(deps, reprovisionJob))) {
    await endJob(deps, 'reprovision', reprovisionJob);
  }
  const steps = await stepsFor(deps, release, devices);
  const { bootId } = host;
  if (steps.length === 0) {
    await deps.store.releases.confirm(release, makeChangeNote(deps));
    return;
  }
  if (bootId === undefined) {
    // The handles were imported. The agent's first report asks the host to clean them.
    deps.log.info('Cleaning waits for the first report of the host', { host: hostname });
    return;
  }
  const minutes = Math.ceil((release.cleanSeconds ?? 0) / 60);
  const request = { uuid: release.id, hostname, bootId, requestId, minutes };
  const task = { ...present({ bind_id: ended }), steps };
  const way = wayFor({ isShort: !takesLong(release), wasSent }, host);
  const isSent = way === 'message' && (await askByMessage(deps, 'release', request, task));
  if (!isSent) return askHost(deps, 'release', request, task);
  const again = { kind: 'release', release_id: release.id, request_id: requestId } as const;
  // If this process ends before, the queue delivers its message again, and the host gets another.
  await deps.queues.send('host-jobs', [{ ...again, was_sent: true }], answerWithinSeconds);
}

/** Whether the job is for one instance. A job for several goes on, and programs no region. */
async function isAlone(deps: ConsumerDeps, jobUuid: string): Promise<boolean> {
  const note = await deps.store.arqs.jobNote(jobUuid);
  return note?.instances.length === 1;
}

async function stepsFor(
  deps: ConsumerDeps,
  release: HostRelease,
  devices: readonly Device[],
): Promise<JobStep[]> {
  const byUuid = new Map(devices.map((device) => [device.uuid, device]));
  const providers = await deps.store.inventory.providersOf(release.handles);
  const released = providers.flatMap(({ deployable, handles }) =>
    handles.map((handle) => ({ deployable, handle })),
  );
  const steps = await Promise.all(
    released.map(async ({ deployable, handle }): Promise<JobStep[]> => {
      const device = byUuid.get(deployable.deviceUuid);
      // The host no longer has the device, or the handle waits for another release.
      if (!device || handle.release !== release.id) return [];
      // The holder of a restored handle is not known. reinstate-handles.ts has it cleaned up when
      // it is free.
      if (handle.restoredAt !== undefined) return [];
      const region = await regionLeft(deps, deployable, release);
      return [
        {
          kind: 'clean',
          ...stepPlace(device),
          ...present({ bind_id: release.bindId }),
          handle: toStepHandle(handle),
          ...present({ region }),
        },
      ];
    }),
  );
  return steps.flat();
}

/** The region, unless the bind still holds it through another handle. */
async function regionLeft(
  deps: ConsumerDeps,
  { providerUuid, region }: Deployable,
  { bindId, isPart }: HostRelease,
): Promise<string | undefined> {
  if (!isPart || region === undefined) return region;
  const { handles = [] } = (await deps.store.inventory.provider(providerUuid)) ?? {};
  const holders = await deps.store.arqs.byUuids(
    handles.flatMap(({ claim }) => claim?.arqUuid ?? []),
  );
  const isHeld = [...holders.values()].some(({ binding }) => binding?.bindId === bindId);
  return isHeld ? undefined : region;
}
