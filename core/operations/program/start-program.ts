import { ImageUnusable } from '#core/clients/openstack/glance.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { jobId } from '#core/contracts/jobs/job-ids.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import { componentMinutes } from '#core/domain/host-work/deadlines.ts';
import type { HostProgram } from '#core/domain/host-work/host-work.ts';
import { isEndedByBoot } from '#core/domain/report/report-plan.ts';
import { askHost } from '#core/operations/host-work/ask-host.ts';
import { mustWait } from '#core/operations/host-work/must-wait.ts';
import { componentStep, imageStep } from '#core/operations/host-work/programs/program-steps.ts';
import { endProgram } from './end-program.ts';
import { resumeProgram } from './resume-program.ts';

const otherHolder = 'Another instance may have had the region meanwhile.';

/**
 * Asks the host to program a region, or a component of a device, for an operator.
 *
 * @throws RetryLater while Glance or S3 is away, AWS throttles, or the host has just booted
 */
export async function startProgram(deps: ConsumerDeps, programId: string): Promise<void> {
  const program = await deps.store.releases.program(programId);
  if (!program) return;
  const { hostname, providerUuid, requestId } = program;
  const { host, devices } = await deps.store.inventory.host(hostname);
  if (mustWait(deps, program, host)) return;
  // The job would be for this boot. No report ends a program that its boot's report has missed.
  if (isEndedByBoot(program, host)) {
    if (program.component) await resumeProgram(deps, program);
    else await endProgram(deps, program, { failure: 'The host has booted.' });
    return;
  }
  const provider = await deps.store.inventory.provider(providerUuid);
  const { component } = program;
  const deviceUuid = component?.deviceUuid ?? provider?.deployable.deviceUuid;
  const device = devices.find(({ uuid }) => uuid === deviceUuid);
  const { bootId } = host;
  if (!provider || !device || bootId === undefined) {
    const what = component ? 'device' : 'region';
    await endProgram(deps, program, { failure: `The ${what} is no longer there.` });
    return;
  }
  const giveUp = async (failure: string) => {
    // An earlier delivery of the message may have created the job.
    const id = jobId(deps.settings.stage, 'program', program.id);
    const status = await deps.clients.jobs.executionStatus(id, hostname);
    if (status === undefined) await endProgram(deps, program, { failure });
  };
  const kept = component ? await keptProviders(deps, program) : [provider];
  if (!keepsAll(kept, program)) return giveUp(otherHolder);
  try {
    const step = component
      ? await componentStep(deps, device, component, program.imageId)
      : await imageStep(deps, provider.deployable, device, program.imageId);
    // Staging takes time: the program may have ended meanwhile.
    const current = await deps.store.releases.program(program.id);
    if (!current || current.quarantine) return;
    const keptStill = await keptProviders(deps, program);
    if (!keepsAll(keptStill, program)) return await giveUp(otherHolder);
    if (!component) await deps.store.regions.forgetFunction(providerUuid);
    const minutes = component && componentMinutes;
    const request = { uuid: program.id, hostname, bootId, requestId, minutes };
    await askHost(deps, 'program', request, { steps: [step] });
  } catch (error) {
    if (!(error instanceof ImageUnusable)) throw error;
    await giveUp(error.message);
  }
}

/** With the handles that the program keeps. */
async function keptProviders(
  deps: ConsumerDeps,
  { providerUuid, component, handles }: HostProgram,
) {
  if (component) return await deps.store.inventory.providersOf(handles);
  const region = await deps.store.inventory.provider(providerUuid);
  return region ? [region] : [];
}

/**
 * Whether all handles still wait for the program. A bind that has claimed a handle behind the
 * program, and has ended, waits for its own release. The holder of a handle from a backup is not
 * known.
 */
function keepsAll(providers: readonly StoredProvider[], { id, handles: kept }: HostProgram) {
  const handles = providers.flatMap((provider) => provider.handles);
  return kept.every(({ handleUuid }) =>
    handles.some(
      ({ uuid, release, restoredAt }) =>
        uuid === handleUuid && release === id && restoredAt === undefined,
    ),
  );
}
