import type { Deps } from '#core/deps.ts';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import { needsProgram, type StoredProvider } from '#core/domain/arq/bind-plan.ts';
import { isProgrammable } from '#core/domain/arq/region-handles.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { mistrustOf } from '#core/domain/host/trust.ts';
import { workDueAt } from '#core/domain/host-work/deadlines.ts';
import { derivedUuid, type InstanceUuid } from '#core/domain/ids.ts';
import { wantedImage } from '#core/domain/profile/device-profile.ts';
import { isEndedByBoot } from '#core/domain/report/report-plan.ts';
import { resolve } from '#core/operations/bind/finish-bind.ts';
import { devicesAtOnce, forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { noteProgram } from '#core/operations/host-work/programs/note-program.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { resumeProgram } from '#core/operations/program/resume-program.ts';
import { cleanUnderBoot } from '#core/operations/release/clean-under-boot.ts';
import { timeNow } from '../time-now.ts';

/** Steps of one job; well below the size that AWS allows for a document. */
const stepsPerJob = 100;

/**
 * Starts the work that follows from a boot: what the host had prepared is gone, or was prepared
 * again without the cloud. The host is asked again for cleaning from before the boot, and what
 * instances are bound to is made ready again. Repeatable: bindings that this boot's jobs cover
 * already stay as they are.
 *
 * @param undescribed addresses of devices that the boot's reports have not described yet
 */
export async function reprovisionHost(
  deps: Deps,
  host: StoredHost,
  undescribed: ReadonlySet<string>,
): Promise<void> {
  const lost: Lost = { handles: new Map(), programs: new Set(), kept: new Set() };
  const { devices } = await deps.store.inventory.host(host.hostname);
  await forEachAtOnce(devices, devicesAtOnce, async ({ address, providers }) => {
    for (const uuid of providers) {
      const provider = await deps.store.inventory.provider(uuid);
      if (!provider) continue;
      await endWork(deps, host, provider);
      const isKnown = !undescribed.has(address);
      await noteLost(deps, isKnown ? provider : await withoutFunction(deps, provider), lost);
    }
  });
  for (const instances of groupByJob(lost)) await provision(deps, host, instances);
  for (const instance of lost.kept)
    if (!lost.handles.has(instance)) await keep(deps, host, instance);
}

/** Makes ready again what one instance is bound to, by a job of its own. */
export async function reprovisionInstance(
  deps: Deps,
  host: StoredHost,
  { instanceUuid }: InstanceBinding,
): Promise<void> {
  // The report with which the host is trusted again reprovisions it.
  if (mistrustOf(host)) return;
  await provision(deps, host, [instanceUuid]);
}

/** What the boot took from instances: prepared handles by count, and images of regions. */
interface Lost {
  readonly handles: Map<InstanceUuid, number>;
  readonly programs: Set<InstanceUuid>;
  /** Instances whose region still holds the image. */
  readonly kept: Set<InstanceUuid>;
}

/** Ends the jobs from before the boot: the agent refuses them. */
async function endWork(deps: Deps, host: StoredHost, { handles }: StoredProvider): Promise<void> {
  for (const id of new Set(handles.flatMap(({ release }) => release ?? []))) {
    const work = await deps.store.releases.awaited(id);
    if (!work || !isEndedByBoot(work, host)) continue;
    if (work.kind === 'program' && work.component && !work.quarantine) {
      await resumeProgram(deps, work);
      continue;
    }
    if (work.kind === 'program') {
      await noteProgram(deps, work, 'failed', { failure: 'The host has booted.' });
    }
    const isCleaned = work.kind === 'release' && work.cleanSeconds !== undefined;
    if (isCleaned) await cleanUnderBoot(deps, work);
    else await deps.store.releases.confirm(work, makeChangeNote(deps));
  }
}

/** Forgets what the region held before the boot: no report says yet what it holds now. */
async function withoutFunction(deps: Deps, provider: StoredProvider): Promise<StoredProvider> {
  const { bitstreamId, functionUuids, ...deployable } = provider.deployable;
  if (bitstreamId === undefined && functionUuids === undefined) return provider;
  await deps.store.regions.forgetFunction(deployable.providerUuid);
  return { ...provider, deployable };
}

async function noteLost(
  deps: Deps,
  { deployable, handles }: StoredProvider,
  { handles: prepared, programs, kept }: Lost,
): Promise<void> {
  const claimed = handles.flatMap(({ claim, prepare }) => (claim ? [{ ...claim, prepare }] : []));
  for (const { instanceUuid, prepare } of claimed) {
    if (prepare !== 'at-bind') continue;
    prepared.set(instanceUuid, (prepared.get(instanceUuid) ?? 0) + 1);
  }
  if (!isProgrammable({ deployable })) return;
  const arqs = await deps.store.arqs.byUuids(claimed.map(({ arqUuid }) => arqUuid));
  for (const { arqUuid, instanceUuid } of claimed) {
    const arq = arqs.get(arqUuid);
    if (!arq || !wantedImage(arq.group)) continue;
    // A region that is there holds what the boot's report says.
    const isLost = deployable.isGone || needsProgram(arq.group, deployable);
    (isLost ? programs : kept).add(instanceUuid);
  }
}

/**
 * One job prepares the handles of several instances. An instance with an image gets a job of its
 * own.
 */
function groupByJob({ handles, programs }: Lost): InstanceUuid[][] {
  const groups: InstanceUuid[][] = [...programs].map((instance) => [instance]);
  let steps = stepsPerJob;
  for (const [instance, count] of [...handles].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (programs.has(instance)) continue;
    steps += count;
    if (steps <= stepsPerJob) groups.at(-1)?.push(instance);
    else {
      groups.push([instance]);
      steps = count;
    }
  }
  return groups;
}

/**
 * Puts bindings of earlier boots into provisioning, with one job that resolves them. The job's
 * note starts its creation. The job's uuid follows from the bindings, so that a repeated attempt
 * finds the same job; a restored host has another epoch, and so another job.
 */
async function provision(
  deps: Deps,
  host: StoredHost,
  candidates: readonly InstanceUuid[],
): Promise<void> {
  const bootId = host.bootId as string;
  const stored = await Promise.all(candidates.map((uuid) => deps.store.arqs.binding(uuid)));
  const bindings = stored.flatMap((binding) =>
    binding && isLeftOver(binding, bootId) ? [binding] : [],
  );
  if (bindings.length === 0) return;
  const names = bindings.map(({ instanceUuid, bindId }) => `${instanceUuid} ${bindId}`);
  const uuid = derivedUuid('reprovision', host.hostname, bootId, String(host.epoch), ...names);
  // The note is written last, so that the job finds all bindings in provisioning. If the consumer
  // dies in between, the next attempt goes on.
  for (const binding of bindings) {
    await resolve(deps, binding, (current, arqs) =>
      deps.store.bindings.provision(
        current,
        arqs,
        { uuid, bootId },
        timeNow(deps),
        workDueAt('reprovision', deps.settings, deps.clock()),
      ),
    );
  }
  const instances = bindings.map(({ instanceUuid }) => instanceUuid);
  await deps.store.arqs.noteJob(uuid, { instances, bootId, bootedHost: host.hostname });
}

/**
 * Keeps a Bound binding for this boot. One that is provisioning needs the end of a job to resolve.
 */
async function keep(deps: Deps, host: StoredHost, instance: InstanceUuid): Promise<void> {
  const binding = await deps.store.arqs.binding(instance);
  if (binding?.state !== 'Bound') await provision(deps, host, [instance]);
  else await deps.store.bindings.keep(binding, host.bootId as string);
}

/** Bound in an earlier boot; or provisioning, for an earlier boot or by an attempt that died. */
function isLeftOver(binding: InstanceBinding, bootId: string): boolean {
  if (binding.state === 'Bound') return binding.bootId !== bootId;
  return binding.state === 'provisioning';
}
