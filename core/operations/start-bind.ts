import { ImageUnusable } from '../clients/glance.ts';
import type { ConsumerDeps } from '../consumer-deps.ts';
import type { JobStep } from '../contracts/job-document.ts';
import { jobId } from '../contracts/job-ids.ts';
import type { InstanceBinding } from '../domain/arq.ts';
import type { StoredProvider } from '../domain/bind-plan.ts';
import type { Host } from '../domain/device.ts';
import type { BindId, ProviderUuid } from '../domain/ids.ts';
import { RetryLater } from '../domain/retry-later.ts';
import type { BoundArq } from '../store/binding-items.ts';
import { boundArqs } from './bound-arqs.ts';
import { failBind, succeedBind } from './finish-bind.ts';
import { type Program, planPrograms } from './plan-programs.ts';

const behindReleaseSeconds = 1;

/**
 * Asks the host to make ready what an instance was promised: one job for all of it, its id the bind's,
 * so that a message that comes twice asks once.
 *
 * @throws RetryLater while a handle is still being cleaned up behind its last holder, or an image
 *   cannot be had
 */
export async function startBind(
  deps: ConsumerDeps,
  instanceUuid: string,
  bindId: BindId,
): Promise<void> {
  const binding = await deps.store.arqs.binding(instanceUuid);
  if (binding?.bindId !== bindId || binding.state !== 'BindStarted') return;
  const arqs = await boundArqs(deps, binding);
  const providers = await providersOf(deps, arqs);
  const handles = arqs.flatMap((arq) => handleOf(arq, providers) ?? []);
  const quarantine = handles.find((handle) => handle.quarantine)?.quarantine;
  if (quarantine !== undefined) {
    await failBind(deps, binding, `The holder before was not cleaned up: ${quarantine}`);
    return;
  }
  const waiting = handles.filter((handle) => handle.release !== undefined);
  if (waiting.length > 0) {
    throw new RetryLater(
      `${waiting.length} handles are still being released.`,
      behindReleaseSeconds,
    );
  }
  const { host, devices } = await deps.store.inventory.host(binding.hostname);
  if (host.bootId === undefined) {
    await failBind(deps, binding, `Host ${binding.hostname} has never reported.`);
    return;
  }
  const unmakeable = handles.find(({ type, info }) => type === 'MDEV' && !info.asked_type);
  if (unmakeable) {
    await failBind(deps, binding, `Attach handle ${unmakeable.uuid} says no type of mdev.`);
    return;
  }
  const addresses = new Map(devices.map((device) => [device.uuid as string, device.address]));
  let programs: Program[];
  try {
    programs = await planPrograms(deps, arqs, providers, addresses);
  } catch (error) {
    if (!(error instanceof ImageUnusable)) throw error;
    await failBind(deps, binding, error.message);
    return;
  }
  const steps = [
    ...programs.map(({ step }) => step),
    ...arqs.flatMap((arq) => stepsFor(arq, providers, addresses)),
  ];
  if (steps.length === 0) {
    await succeedBind(deps, binding);
    return;
  }
  // A bind that comes before the next report must not take the old function for what is there.
  for (const { providerUuid } of programs) {
    await deps.store.regions.forgetFunction(providerUuid);
  }
  await createJob(deps, binding, host, steps);
}

async function createJob(
  deps: ConsumerDeps,
  binding: InstanceBinding,
  host: Host,
  steps: JobStep[],
): Promise<void> {
  const id = jobId(deps.settings.stage, 'bind', binding.bindId);
  await deps.store.arqs.noteJob(binding.bindId, {
    instances: [binding.instanceUuid],
    bootId: host.bootId as string,
  });
  await deps.clients.jobs.create(id, {
    version: 1,
    action: 'prepare',
    host: binding.hostname,
    boot_id: host.bootId as string,
    bind_id: binding.bindId,
    steps,
  });
  deps.log.info('The host was asked to prepare.', {
    job: id,
    host: binding.hostname,
    instance: binding.instanceUuid,
  });
}

async function providersOf(
  deps: ConsumerDeps,
  arqs: readonly BoundArq[],
): Promise<Map<ProviderUuid, StoredProvider>> {
  const uuids = [...new Set(arqs.map((arq) => arq.binding.providerUuid))];
  const providers = await Promise.all(uuids.map((uuid) => deps.store.inventory.provider(uuid)));
  return new Map(
    providers.flatMap((provider) =>
      provider ? [[provider.deployable.providerUuid, provider] as const] : [],
    ),
  );
}

function handleOf(arq: BoundArq, providers: ReadonlyMap<ProviderUuid, StoredProvider>) {
  const { providerUuid, attachment } = arq.binding;
  return providers
    .get(providerUuid)
    ?.handles.find((handle) => handle.uuid === attachment?.handleUuid);
}

function stepsFor(
  arq: BoundArq,
  providers: ReadonlyMap<ProviderUuid, StoredProvider>,
  addresses: ReadonlyMap<string, string>,
): JobStep[] {
  const { providerUuid, attachment } = arq.binding;
  const address = addresses.get(providers.get(providerUuid)?.deployable.deviceUuid ?? '');
  const type = attachment?.info.asked_type;
  if (attachment?.type !== 'MDEV' || !address || !type) return [];
  return [{ kind: 'create-mdev', address, uuid: attachment.handleUuid, type }];
}
