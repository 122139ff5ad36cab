import type { ConsumerDeps } from '../consumer-deps.ts';
import type { CreateMdevStep } from '../contracts/job-document.ts';
import { jobId } from '../contracts/job-ids.ts';
import type { InstanceBinding } from '../domain/arq.ts';
import { needsCleaning, type StoredProvider } from '../domain/bind-plan.ts';
import type { AttachHandle, Device } from '../domain/device.ts';
import { derivedUuid } from '../domain/ids.ts';
import { boundArqs } from './bound-arqs.ts';

/** Steps of one job: with room to spare below the size of a document. */
const stepsPerJob = 100;

/**
 * A host has booted: what was made on it is gone. Releases have nothing left to clean up, and what
 * instances were promised is made again. Repeatable; another boot makes other jobs.
 */
export async function startOver(
  deps: ConsumerDeps,
  hostname: string,
  bootId: string,
): Promise<void> {
  const { devices } = await deps.store.inventory.host(hostname);
  const wanted: Wanted[] = [];
  for (const device of devices) {
    for (const uuid of device.providers) {
      const provider = await deps.store.inventory.provider(uuid);
      if (!provider) continue;
      await confirmReleases(deps, provider);
      wanted.push(...wantedOf(deps, device, provider));
    }
  }
  const bindings = await provision(deps, wanted);
  const jobs = jobsOf(wanted.filter(({ handle }) => bindings.has(instanceOf(handle))));
  for (const [part, steps] of jobs.entries()) {
    await createJob(deps, hostname, bootId, part, steps);
  }
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

interface Wanted {
  readonly handle: AttachHandle;
  readonly step: CreateMdevStep;
}

async function confirmReleases(deps: ConsumerDeps, { handles }: StoredProvider): Promise<void> {
  for (const id of new Set(handles.flatMap(({ release }) => release ?? []))) {
    const release = await deps.store.releases.byId(id);
    if (release) await deps.store.releases.confirm(release);
  }
}

function wantedOf(deps: ConsumerDeps, device: Device, { handles }: StoredProvider): Wanted[] {
  return handles.flatMap((handle): Wanted[] => {
    const type = handle.info.asked_type;
    if (!handle.claim || !type || !needsCleaning(handle, deps.settings.mdevOwner)) return [];
    const { address } = device;
    return [{ handle, step: { kind: 'create-mdev', address, uuid: handle.uuid, type } }];
  });
}

/** The bindings that are provisioning now; a bind that was under way ends with its own job. */
async function provision(
  deps: ConsumerDeps,
  wanted: readonly Wanted[],
): Promise<Map<string, InstanceBinding>> {
  const provisioning = new Map<string, InstanceBinding>();
  for (const uuid of new Set(wanted.map(({ handle }) => instanceOf(handle)))) {
    const binding = await deps.store.arqs.binding(uuid);
    if (!binding) continue;
    const now = new Date(deps.clock()).toISOString();
    const isNew =
      binding.state === 'Bound' &&
      (await deps.store.bindings.provision(binding, await boundArqs(deps, binding), now));
    if (isNew || binding.state === 'provisioning') provisioning.set(uuid, binding);
  }
  return provisioning;
}

async function createJob(
  deps: ConsumerDeps,
  hostname: string,
  bootId: string,
  part: number,
  wanted: readonly Wanted[],
): Promise<void> {
  const uuid = derivedUuid('boot', hostname, bootId, String(part));
  const instances = wanted.map(({ handle }) => instanceOf(handle));
  await deps.store.arqs.noteJob(uuid, [...new Set(instances)]);
  await deps.clients.jobs.create(jobId(deps.settings.stage, 'boot', uuid), {
    version: 1,
    action: 'reconcile',
    host: hostname,
    boot_id: bootId,
    steps: wanted.map(({ step }) => step),
  });
  deps.log.info('The host was asked to make again what it lost.', { host: hostname, instances });
}
