// What a host has to do so that an instance has what it is bound to: at its bind, and again after
// the host has booted.

import { ImageUnusable } from '#core/clients/openstack/glance.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { PrepareHandleStep, PrepareStep } from '#core/contracts/jobs/job-document.ts';
import { type BindFailureCause, heldHandles, type InstanceBinding } from '#core/domain/arq/arq.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import { handlesShareContent, needsAllHandles } from '#core/domain/arq/region-handles.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import type { HandleRef } from '#core/domain/host-work/host-work.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import type { BoundArq } from '#core/store/arqs/binding-items.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import { boundArqs } from './bound-arqs.ts';
import type { Place, PlacedArq } from './programs/plan-programs.ts';
import { programSteps } from './programs/program-steps.ts';
import { stepPlace, toStepHandle } from './programs/step-place.ts';

const behindReleaseSeconds = 1;

export interface PreparedWork {
  /** Empty where the host has nothing to do. */
  readonly steps: readonly PrepareStep[];
  /** Providers whose regions the steps program. */
  readonly programs: readonly ProviderUuid[];
}

/** The host can never do the work; the message says why. */
export class WorkImpossible extends Error {
  override readonly name = 'WorkImpossible';
  override readonly cause: BindFailureCause;

  constructor(cause: BindFailureCause, message: string) {
    super(message);
    this.cause = cause;
  }
}

/**
 * @throws WorkImpossible
 * @throws RetryLater while a handle is still being cleaned up behind its last holder, or an image
 *   cannot be had
 */
export async function prepareHostWork(
  deps: ConsumerDeps,
  binding: InstanceBinding,
  { host, devices }: HostInventory,
): Promise<PreparedWork> {
  const arqs = await boundArqs(deps, binding);
  const places = await readPlaces(deps, arqs, devices);
  const placed = arqs.map((arq) => placedArq(arq, places));
  // A bind from a backup is past its deadline, and its handle may have another holder since.
  if (binding.state === 'BindStarted' && placed.some(({ handle }) => handle.restoredAt)) {
    throw new WorkImpossible(
      'device',
      'The bind was restored from a backup, and its device is withheld.',
    );
  }
  checkHandles([...new Set(placed.flatMap(handlesUsed))]);
  const regions = await programSteps(deps, { binding, bootId: host.bootId }, placed).catch(
    (error: unknown) => {
      throw error instanceof ImageUnusable ? new WorkImpossible('image', error.message) : error;
    },
  );
  return {
    steps: [...regions.map(({ step }) => step), ...placed.flatMap(handleSteps)],
    programs: regions.flatMap(({ providerUuid, step }) =>
      'image' in step.content ? [providerUuid] : [],
    ),
  };
}

async function readPlaces(
  deps: ConsumerDeps,
  arqs: readonly BoundArq[],
  devices: readonly Device[],
): Promise<Map<ProviderUuid, Place>> {
  const present = devices.filter(({ isGone }) => !isGone);
  const byUuid = new Map(present.map((device) => [device.uuid, device]));
  const providers = await usedProviders(deps, heldHandles(arqs));
  return new Map(
    providers.flatMap((provider) => {
      const device = byUuid.get(provider.deployable.deviceUuid);
      return device ? [[provider.deployable.providerUuid, { provider, device }] as const] : [];
    }),
  );
}

/** With the bound handles, or with all where a bind depends on the others. */
async function usedProviders(
  deps: ConsumerDeps,
  bound: readonly HandleRef[],
): Promise<StoredProvider[]> {
  const { inventory } = deps.store;
  const used = await inventory.providersOf(bound);
  const whole = used.filter(needsAllHandles).map(({ deployable }) => deployable.providerUuid);
  return [...used.filter((each) => !needsAllHandles(each)), ...(await inventory.providers(whole))];
}

function placedArq(arq: BoundArq, places: ReadonlyMap<ProviderUuid, Place>): PlacedArq {
  const { providerUuid, attachment, hostname } = arq.binding;
  const place = places.get(providerUuid);
  const handle = place?.provider.handles.find(({ uuid }) => uuid === attachment?.handleUuid);
  if (!place || !handle || handle.isGone) {
    const reason = `Host ${hostname} no longer has the device of ${providerUuid}.`;
    throw new WorkImpossible('device', reason);
  }
  return { arq, handle, place };
}

/**
 * The handles that must not wait for a release. These are all handles of a region whose handles
 * share content: the late job of a bind of another handle could still program the region.
 */
function handlesUsed({ handle, place: { provider } }: PlacedArq): readonly AttachHandle[] {
  return handlesShareContent(provider) ? provider.handles : [handle];
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

function handleSteps({ arq, handle, place }: PlacedArq): PrepareHandleStep[] {
  if (handle.prepare !== 'at-bind') return [];
  const step = { kind: 'prepare', bind_id: arq.binding.bindId } as const;
  return [{ ...step, ...stepPlace(place.device), handle: toStepHandle(handle) }];
}
