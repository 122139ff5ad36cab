// What a host has to do so that an instance has what it was promised: at its bind, and again after
// the host has booted.

import { ImageUnusable } from '../clients/glance.ts';
import type { ConsumerDeps } from '../consumer-deps.ts';
import type { CheckRegionStep, CreateMdevStep, ProgramStep } from '../contracts/job-document.ts';
import type { BindFailureCause, InstanceBinding } from '../domain/arq.ts';
import { needsCleaning, type StoredProvider } from '../domain/bind-plan.ts';
import type { AttachHandle } from '../domain/device.ts';
import type { ProviderUuid } from '../domain/ids.ts';
import { RetryLater } from '../domain/retry-later.ts';
import type { BoundArq } from '../store/binding-items.ts';
import type { HostInventory } from '../store/hosts.ts';
import { boundArqs } from './bound-arqs.ts';
import { planPrograms } from './plan-programs.ts';

const behindReleaseSeconds = 1;

export interface HostWork {
  /** None: all is as it shall be. */
  readonly steps: readonly (ProgramStep | CheckRegionStep | CreateMdevStep)[];
  /** Whose regions will hold something else. */
  readonly programs: readonly ProviderUuid[];
}

/** It cannot be done; the message says why. */
export class WorkImpossible extends Error {
  override readonly name = 'WorkImpossible';
  override readonly cause: BindFailureCause;

  constructor(cause: BindFailureCause, message: string) {
    super(message);
    this.cause = cause;
  }
}

/** What one ARQ holds, and where. */
interface Held {
  readonly arq: BoundArq;
  readonly handle: AttachHandle;
  readonly provider: StoredProvider;
  readonly address: string;
}

/**
 * @throws WorkImpossible
 * @throws RetryLater while a handle is still being cleaned up behind its last holder, or an image
 *   cannot be had
 */
export async function planHostWork(
  deps: ConsumerDeps,
  binding: InstanceBinding,
  { host, devices }: HostInventory,
): Promise<HostWork> {
  const arqs = await boundArqs(deps, binding);
  const providers = await providersOf(deps, arqs);
  const addresses = new Map(
    devices.flatMap(({ uuid, address, isGone }) => (isGone ? [] : [[uuid as string, address]])),
  );
  const held = arqs.map((arq) => heldBy(arq, providers, addresses));
  const handles = held.map(({ handle }) => handle);
  // Its deadline is over, and what it was given then may be somebody else's by now.
  if (binding.state === 'BindStarted' && handles.some(({ unknownSince }) => unknownSince)) {
    throw new WorkImpossible(
      'device',
      'It was put back from a backup, and its device is withheld.',
    );
  }
  checkHandles([...new Set([...handles, ...held.flatMap(handlesBeside)])]);
  const where = { providers, addresses, bootId: host.bootId };
  const regions = await planPrograms(deps, binding, arqs, where).catch((error: unknown) => {
    throw error instanceof ImageUnusable ? new WorkImpossible('image', error.message) : error;
  });
  return {
    steps: [...regions.map(({ step }) => step), ...held.flatMap((each) => mdevSteps(deps, each))],
    programs: regions.flatMap(({ providerUuid, step }) =>
      step.kind === 'program' ? [providerUuid] : [],
    ),
  };
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

function heldBy(
  arq: BoundArq,
  providers: ReadonlyMap<ProviderUuid, StoredProvider>,
  addresses: ReadonlyMap<string, string>,
): Held {
  const { providerUuid, attachment, hostname } = arq.binding;
  const provider = providers.get(providerUuid);
  const handle = provider?.handles.find(({ uuid }) => uuid === attachment?.handleUuid);
  const address = addresses.get(provider?.deployable.deviceUuid ?? '');
  if (!provider || !handle || handle.isGone || !address) {
    const what = `the device of ${providerUuid}`;
    throw new WorkImpossible('device', `Host ${hostname} no longer has ${what}.`);
  }
  return { arq, handle, provider, address };
}

/**
 * Until a bind of another handle of the region is over for the host, too, its job can come late and put
 * its image there.
 */
function handlesBeside({ provider }: Held): readonly AttachHandle[] {
  return provider.deployable.region === undefined ? [] : provider.handles;
}

function checkHandles(handles: readonly AttachHandle[]): void {
  const quarantine = handles.find((handle) => handle.quarantine)?.quarantine;
  if (quarantine !== undefined) {
    throw new WorkImpossible('quarantine', `The holder before was not cleaned up: ${quarantine}`);
  }
  const waiting = handles.filter((handle) => handle.release !== undefined);
  if (waiting.length > 0) {
    throw new RetryLater(
      `${waiting.length} handles are still being released.`,
      behindReleaseSeconds,
    );
  }
}

function mdevSteps(deps: ConsumerDeps, { arq, handle, address }: Held): CreateMdevStep[] {
  if (!needsCleaning(handle, deps.settings.mdevOwner)) return [];
  const type = handle.info.asked_type;
  if (!type) {
    throw new WorkImpossible('device', `Attach handle ${handle.uuid} says no type of mdev.`);
  }
  const { bindId } = arq.binding;
  const { uuid, epoch } = handle;
  return [{ kind: 'create-mdev', bind_id: bindId, address, uuid, type, epoch }];
}
