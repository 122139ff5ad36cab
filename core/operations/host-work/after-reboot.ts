import type { Deps } from '../../deps.ts';
import type { InstanceBinding } from '../../domain/arq.ts';
import {
  isProgrammable,
  needsCleaning,
  needsProgram,
  type StoredProvider,
} from '../../domain/bind-plan.ts';
import { provisioningDueMs } from '../../domain/deadlines.ts';
import { wantedImage } from '../../domain/device-profile.ts';
import { derivedUuid, type InstanceUuid } from '../../domain/ids.ts';
import { isEndedByBoot, type StoredHost } from '../../domain/report-plan.ts';
import { resolve } from '../bind/finish-bind.ts';

/** Steps of one job: with room to spare below the size of a document. */
const stepsPerJob = 100;

/**
 * A host has booted: what was made on it is gone. Releases that began before have nothing left to clean
 * up, and what instances were promised is made again. Repeatable: what this boot has seen to already
 * is left alone.
 *
 * @param undescribed addresses of devices of which the boot's reports say nothing yet
 */
export async function reprovisionHost(
  deps: Deps,
  host: StoredHost,
  undescribed: ReadonlySet<string>,
): Promise<void> {
  const lost: Lost = { mdevs: new Map(), programs: new Set(), kept: new Set() };
  const { devices } = await deps.store.inventory.host(host.hostname);
  for (const device of devices) {
    for (const uuid of device.providers) {
      const provider = await deps.store.inventory.provider(uuid);
      if (!provider) continue;
      await confirmReleases(deps, host, provider);
      const isKnown = !undescribed.has(device.address);
      await noteLost(deps, isKnown ? provider : await forgotten(deps, provider), lost);
    }
  }
  for (const instances of groupsOf(lost)) await provision(deps, host, instances);
  for (const instance of lost.kept) if (!lost.mdevs.has(instance)) await keep(deps, host, instance);
}

/** Makes again what one instance was promised, by a job of its own. */
export async function reprovisionInstance(
  deps: Deps,
  host: StoredHost,
  { instanceUuid }: InstanceBinding,
): Promise<void> {
  // Its own boot asks for it once the conflict is over.
  if (host.conflict) return;
  await provision(deps, host, [instanceUuid]);
}

/** By instance: how many mdevs, and whether a region must hold an image for it. */
interface Lost {
  readonly mdevs: Map<InstanceUuid, number>;
  readonly programs: Set<InstanceUuid>;
  /** Whose region holds the image still. */
  readonly kept: Set<InstanceUuid>;
}

async function confirmReleases(
  deps: Deps,
  host: StoredHost,
  { handles }: StoredProvider,
): Promise<void> {
  for (const id of new Set(handles.flatMap(({ release }) => release ?? []))) {
    const release = await deps.store.releases.byId(id);
    if (release && isEndedByBoot(release, host)) {
      await deps.store.regions.endProgram(release, 'failed', 'The host has booted.');
      await deps.store.releases.confirm(release);
    }
  }
}

/** What was there before the boot says nothing, and what is there now has not been said yet. */
async function forgotten(deps: Deps, provider: StoredProvider): Promise<StoredProvider> {
  const { bitstreamId, functionUuid, ...deployable } = provider.deployable;
  if (bitstreamId === undefined && functionUuid === undefined) return provider;
  await deps.store.regions.forgetFunction(deployable.providerUuid);
  return { ...provider, deployable };
}

async function noteLost(
  deps: Deps,
  { deployable, handles }: StoredProvider,
  { mdevs, programs, kept }: Lost,
): Promise<void> {
  const claimed = handles.flatMap(({ claim, type }) => (claim ? [{ ...claim, type }] : []));
  for (const { instanceUuid, type } of claimed) {
    if (!needsCleaning({ type }, deps.settings.mdevOwner)) continue;
    mdevs.set(instanceUuid, (mdevs.get(instanceUuid) ?? 0) + 1);
  }
  if (!isProgrammable({ deployable })) return;
  const arqs = await deps.store.arqs.byUuids(claimed.map(({ arqUuid }) => arqUuid));
  for (const { arqUuid, instanceUuid } of claimed) {
    const arq = arqs.get(arqUuid);
    if (!arq || !wantedImage(arq.group)) continue;
    // What the region holds by now is known from the report that told of the boot, if it is there.
    const isLost = deployable.isGone || needsProgram(arq.group, deployable);
    (isLost ? programs : kept).add(instanceUuid);
  }
}

/** Mdevs of several instances are made by one job; to find and fetch an image holds up nobody else. */
function groupsOf({ mdevs, programs }: Lost): InstanceUuid[][] {
  const groups: InstanceUuid[][] = [...programs].map((instance) => [instance]);
  let steps = stepsPerJob;
  for (const [instance, count] of [...mdevs].sort(([a], [b]) => (a < b ? -1 : 1))) {
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
 * The bindings that this boot has not seen to are provisioning from now on, decided by one job, which is
 * made when its row is there. Its id follows from them, so that a repeated attempt finds the same or
 * another job; what was put back from a backup, under an epoch of its own, finds none that has ended.
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
  const uuid = derivedUuid('boot', host.hostname, bootId, String(host.epoch), ...names);
  // The row is written last, so that the job finds all of them provisioning; a death in between leaves
  // them to the next attempt.
  for (const binding of bindings) {
    await resolve(deps, binding, (current, arqs) =>
      deps.store.bindings.provision(
        current,
        arqs,
        { uuid, bootId },
        new Date(deps.clock()).toISOString(),
        new Date(deps.clock() + provisioningDueMs).toISOString(),
      ),
    );
  }
  const instances = bindings.map(({ instanceUuid }) => instanceUuid);
  await deps.store.arqs.noteJob(uuid, { instances, bootId, bootedHost: host.hostname });
}

/** What was to be made again for an earlier boot is so for this one: only its job's end resolves it. */
async function keep(deps: Deps, host: StoredHost, instance: InstanceUuid): Promise<void> {
  const binding = await deps.store.arqs.binding(instance);
  if (binding?.state !== 'Bound') await provision(deps, host, [instance]);
  else await deps.store.bindings.keep(binding, host.bootId as string);
}

/** Bound by an earlier boot, or provisioning for one; or for this one by an attempt that died. */
function isLeftOver(binding: InstanceBinding, bootId: string): boolean {
  if (binding.state === 'Bound') return binding.bootId !== bootId;
  return binding.state === 'provisioning';
}
