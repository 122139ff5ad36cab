import { ImageUnusable } from '../../clients/glance.ts';
import type { ConsumerDeps } from '../../consumer-deps.ts';
import { jobId } from '../../contracts/job-ids.ts';
import type { HostRelease } from '../../domain/arq.ts';
import type { StoredProvider } from '../../domain/bind-plan.ts';
import { isEndedByBoot } from '../../domain/report-plan.ts';
import { quarantine } from '../release/quarantine.ts';
import { imageStep } from './plan-programs.ts';

const otherHolder = 'Somebody may have had the region meanwhile.';

/**
 * Asks the host to program what an operator wants.
 *
 * @throws RetryLater while Glance or S3 is away, or AWS throttles
 */
export async function runProgram(deps: ConsumerDeps, release: HostRelease): Promise<void> {
  const { program, hostname } = release;
  const { host, devices } = await deps.store.inventory.host(hostname);
  // The job would be for this boot. Where its report has missed the release, nobody else ends it.
  if (isEndedByBoot(release, host)) {
    await endProgram(deps, release, 'The host has booted.');
    return;
  }
  const provider = program && (await deps.store.inventory.provider(program.providerUuid));
  const device = devices.find(({ uuid }) => uuid === provider?.deployable.deviceUuid);
  if (!program || !provider || !device || host.bootId === undefined) {
    await endProgram(deps, release, 'The region is no longer there.');
    return;
  }
  const id = jobId(deps.settings.stage, 'prog', release.id);
  const giveUp = async (reason: string) => {
    // The message may have come before, and its host have the job.
    const status = await deps.clients.jobs.executionStatus(id, hostname);
    if (status === undefined) await endProgram(deps, release, reason);
  };
  if (!isKept(provider, release)) return giveUp(otherHolder);
  try {
    const { deployable } = provider;
    const step = await imageStep(deps, deployable, device.address, program.imageId);
    // To bring the image here takes its time: what is given up by now is not begun any more.
    const current = await deps.store.releases.byId(release.id);
    if (!current || current.quarantine) return;
    const region = await deps.store.inventory.provider(program.providerUuid);
    if (!region || !isKept(region, release)) return await giveUp(otherHolder);
    await deps.store.regions.forgetFunction(program.providerUuid);
    const { requestId: request_id } = release;
    const envelope = {
      version: 1,
      host: hostname,
      boot_id: host.bootId,
      ...(request_id && { request_id }),
    } as const;
    await deps.clients.jobs.create(id, { ...envelope, action: 'program', steps: [step] });
    deps.log.info('The host was asked to program.', { job: id, host: hostname });
  } catch (error) {
    if (!(error instanceof ImageUnusable)) throw error;
    await giveUp(error.message);
  }
}

/**
 * Whoever has claimed a handle behind the program and given it back waits for his own release, not for ours.
 * Who has one since a backup is not known.
 */
function isKept({ handles }: StoredProvider, { id, handles: kept }: HostRelease): boolean {
  return kept.every(({ handleUuid }) =>
    handles.some(
      ({ uuid, release, restoredAt }) =>
        uuid === handleUuid && release === id && restoredAt === undefined,
    ),
  );
}

/** @param failure why the region was not programmed */
export async function endProgram(
  deps: ConsumerDeps,
  release: HostRelease,
  failure?: string,
): Promise<void> {
  await deps.store.regions.endProgram(release, failure ? 'failed' : 'done', failure);
  await deps.store.releases.confirm(release);
  const names = namesOf(release);
  if (failure) deps.log.error('A region was not programmed.', { ...names, reason: failure });
  else deps.log.info('A region was programmed.', names);
}

/** The region is not claimed until its host has come to rest there, or has booted, or an admin frees it. */
export async function quarantineProgram(
  deps: ConsumerDeps,
  release: HostRelease,
  reason: string,
): Promise<void> {
  await deps.store.regions.endProgram(release, 'failed', reason);
  await quarantine(deps, release, reason);
  deps.log.error('Whether a region was programmed is not known.', {
    ...namesOf(release),
    reason,
  });
}

function namesOf({ hostname, program, requestId }: HostRelease) {
  return { host: hostname, ...program, ...(requestId && { request_id: requestId }) };
}
