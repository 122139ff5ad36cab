import type { ConsumerDeps } from '../consumer-deps.ts';
import type { CreateMdevStep } from '../contracts/job-document.ts';
import { jobId } from '../contracts/job-ids.ts';
import type { InstanceBinding } from '../domain/arq.ts';
import { needsCleaning, type StoredProvider } from '../domain/bind-plan.ts';
import type { AttachHandle, Device } from '../domain/device.ts';
import { derivedUuid } from '../domain/ids.ts';
import type { StoredHost } from '../domain/inventory-plan.ts';
import { failBind, resolve } from './finish-bind.ts';

/** Steps of one job: with room to spare below the size of a document. */
const stepsPerJob = 100;

/**
 * A host has booted: what was made on it is gone. Releases that began before have nothing left to clean
 * up, and what instances were promised is made again. Repeatable: what this boot has seen to already
 * is left alone.
 */
export async function startOver(deps: ConsumerDeps, host: StoredHost): Promise<void> {
  const wanted = await wantedOn(deps, host, (provider) => confirmReleases(deps, host, provider));
  for (const job of jobsOf(wanted)) await startJob(deps, host, job);
}

/** Makes again what one instance was promised, by a job of its own. */
export async function startOverAlone(
  deps: ConsumerDeps,
  host: StoredHost,
  { instanceUuid }: InstanceBinding,
): Promise<void> {
  const wanted = await wantedOn(deps, host);
  await startJob(
    deps,
    host,
    wanted.filter(({ handle }) => instanceOf(handle) === instanceUuid),
  );
}

async function wantedOn(
  deps: ConsumerDeps,
  host: StoredHost,
  visit: (provider: StoredProvider) => Promise<void> = async () => {},
): Promise<Wanted[]> {
  const { devices } = await deps.store.inventory.host(host.hostname);
  const wanted: Wanted[] = [];
  for (const device of devices) {
    for (const uuid of device.providers) {
      const provider = await deps.store.inventory.provider(uuid);
      if (!provider) continue;
      await visit(provider);
      wanted.push(...wantedOf(deps, device, provider));
    }
  }
  return wanted;
}

interface Wanted {
  readonly handle: AttachHandle;
  readonly isGone: boolean;
  readonly step: CreateMdevStep;
}

async function confirmReleases(
  deps: ConsumerDeps,
  host: StoredHost,
  { handles }: StoredProvider,
): Promise<void> {
  for (const id of new Set(handles.flatMap(({ release }) => release ?? []))) {
    const release = await deps.store.releases.byId(id);
    // What began since may be about what was made since.
    if (release && host.bootedAt && release.startedAt < host.bootedAt) {
      await deps.store.regions.endProgram(release, 'failed', 'The host has booted.');
      await deps.store.releases.confirm(release);
    }
  }
}

function wantedOf(deps: ConsumerDeps, device: Device, { handles }: StoredProvider): Wanted[] {
  return handles.flatMap((handle): Wanted[] => {
    const type = handle.info.asked_type;
    if (!handle.claim || !type || !needsCleaning(handle, deps.settings.mdevOwner)) return [];
    const { address } = device;
    const step = { kind: 'create-mdev', address, uuid: handle.uuid, type } as const;
    return [{ handle, isGone: device.isGone || handle.isGone, step }];
  });
}

/** An instance's steps are all in one job, so that its end is the instance's. */
function jobsOf(wanted: readonly Wanted[]): Wanted[][] {
  const byInstance = Map.groupBy(wanted, ({ handle }) => instanceOf(handle));
  const jobs: Wanted[][] = [];
  for (const [, steps] of [...byInstance].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const last = jobs.at(-1);
    if (last && last.length + steps.length <= stepsPerJob) last.push(...steps);
    else jobs.push([...steps]);
  }
  return jobs;
}

function instanceOf({ claim }: AttachHandle): string {
  return claim?.instanceUuid ?? '';
}

/**
 * The bindings that this boot has not seen to are provisioning from now on, and one job makes their
 * mdevs; its id follows from them, so that a repeated attempt finds the same or another job.
 */
async function startJob(
  deps: ConsumerDeps,
  host: StoredHost,
  wanted: readonly Wanted[],
): Promise<void> {
  const bootId = host.bootId as string;
  const bindings: InstanceBinding[] = [];
  for (const uuid of new Set(wanted.map(({ handle }) => instanceOf(handle)))) {
    const binding = await deps.store.arqs.binding(uuid);
    if (!binding || !isLeftOver(binding, bootId)) continue;
    const isLost = wanted.some((each) => instanceOf(each.handle) === uuid && each.isGone);
    if (isLost) await failBind(deps, binding, 'Its host has booted without the device.');
    else bindings.push(binding);
  }
  if (bindings.length === 0) return;
  const names = bindings.map((binding) => `${binding.instanceUuid} ${binding.bindId}`);
  const uuid = derivedUuid('boot', host.hostname, bootId, ...names);
  const instances = bindings.map(({ instanceUuid }) => instanceUuid as string);
  // Noted first, so that the end of the job finds its instances, and made last, so that it finds them
  // provisioning; a death in between leaves them to the next attempt, which makes the same job.
  await deps.store.arqs.noteJob(uuid, { instances, bootId });
  for (const binding of bindings) {
    const job = { uuid, bootId };
    await resolve(deps, binding, (current, arqs) =>
      deps.store.bindings.provision(current, arqs, job, new Date(deps.clock()).toISOString()),
    );
  }
  const steps = wanted.filter(({ handle }) => instances.includes(instanceOf(handle)));
  await deps.clients.jobs.create(jobId(deps.settings.stage, 'boot', uuid), {
    version: 1,
    action: 'reconcile',
    host: host.hostname,
    boot_id: bootId,
    steps: steps.map(({ step }) => step),
  });
  deps.log.info('The host was asked to make again what it lost.', {
    host: host.hostname,
    instances,
  });
}

/** Bound by an earlier boot, or provisioning for one; or for this one by an attempt that died. */
function isLeftOver(binding: InstanceBinding, bootId: string): boolean {
  if (binding.state === 'Bound') return binding.bootId !== bootId;
  return binding.state === 'provisioning';
}
