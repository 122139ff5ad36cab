// Picks the handles of the ARQs that are bound together: of a pool such that belong together, of
// other providers any. Pure.

import type { AttachHandle } from '#core/domain/device/device.ts';
import { handleStateOf, isClaimable } from '#core/domain/device/handle-state.ts';
import { NoFreeHandle } from '#core/domain/errors.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import { chooseUnits } from '#core/domain/pool/choose-units.ts';
import { isPool } from '#core/domain/pool/wholes.ts';
import { sameLevelOf } from '#core/domain/profile/device-profile.ts';
import type { Arq } from './arq.ts';
import type { BindTarget, StoredProvider } from './bind-plan.ts';
import { withheldHandles } from './region-handles.ts';

/** An ARQ that is bound, with the provider that Nova chose for it. */
export interface Request {
  readonly arq: Arq;
  readonly target: BindTarget;
  readonly provider: StoredProvider;
}

/** @throws NoFreeHandle */
export function pickAll(
  requests: readonly Request[],
  random: () => number,
): ReadonlyMap<ArqUuid, AttachHandle> {
  const picked = new Map<ArqUuid, AttachHandle>();
  const taken = new Set<string>();
  const groups = Map.groupBy(requests, keyOfGroup);
  // The larger first, so that what is together is not broken up for the smaller.
  const order = [...groups.values()].toSorted((one, other) => other.length - one.length);
  for (const group of order) {
    const [{ provider, target, arq }] = group as [Request, ...Request[]];
    const handles = isPool(provider.handles)
      ? pickTogether(provider, group, taken, random)
      : pickAny(provider, group.length, taken, random);
    if (!handles) {
      const requested = requests.filter((each) => each.provider === provider).length;
      const same = sameLevelOf(arq.group);
      throw new NoFreeHandle(target.providerUuid, same ? group.length : requested, same);
    }
    for (const [index, handle] of handles.entries()) {
      taken.add(handle.uuid);
      picked.set((group[index] as Request).arq.uuid, handle);
    }
  }
  return picked;
}

/** Groups of a profile that ask for the same place in one pool are chosen together. */
function keyOfGroup({ arq, target }: Request): string {
  const same = sameLevelOf(arq.group);
  const group = same ? `same ${same}` : `${arq.deviceProfileName} ${arq.groupId}`;
  return `${target.providerUuid} ${group}`;
}

/** Units of a pool; undefined if too few of them are together. */
function pickTogether(
  provider: StoredProvider,
  group: readonly Request[],
  taken: ReadonlySet<string>,
  random: () => number,
): AttachHandle[] | undefined {
  const same = group[0] && sameLevelOf(group[0].arq.group);
  const claimable = new Set(claimableHandles(provider, taken));
  const isReady = (handle: AttachHandle) =>
    claimable.has(handle) && handleStateOf(handle) === 'free';
  const request = { count: group.length, same, random };
  return (
    chooseUnits(provider.handles, { ...request, isFree: isReady }) ??
    chooseUnits(provider.handles, { ...request, isFree: (handle) => claimable.has(handle) })
  );
}

function pickAny(
  provider: StoredProvider,
  count: number,
  taken: ReadonlySet<string>,
  random: () => number,
): AttachHandle[] | undefined {
  const handles: AttachHandle[] = [];
  for (let number = 0; number < count; number++) {
    const without = new Set([...taken, ...handles.map(({ uuid }) => uuid)]);
    const handle = pick(provider, without, random);
    if (!handle) return undefined;
    handles.push(handle);
  }
  return handles;
}

/**
 * A free handle if there is one, else a releasing handle: its host finishes the release by
 * itself.
 */
function pick(
  provider: StoredProvider,
  taken: ReadonlySet<string>,
  random: () => number,
): AttachHandle | undefined {
  const claimable = claimableHandles(provider, taken);
  const free = claimable.filter((handle) => handleStateOf(handle) === 'free');
  const among = free.length > 0 ? free : claimable;
  return among[Math.floor(random() * among.length)];
}

function claimableHandles(provider: StoredProvider, taken: ReadonlySet<string>): AttachHandle[] {
  const withheld = new Set(withheldHandles(provider));
  return provider.handles.filter(
    (handle) => isClaimable(handle) && !withheld.has(handle) && !taken.has(handle.uuid),
  );
}
