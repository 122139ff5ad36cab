// Which handles of a provider depend on each other, and which are kept from binds. Pure.

import type { AttachHandle } from '#core/domain/device/device.ts';
import { handleStateOf, isWithheld } from '#core/domain/device/handle-state.ts';
import { type RegionRules, regionRules } from '#core/domain/device/region-kinds.ts';
import { isPool, wholesOf } from '#core/domain/pool/wholes.ts';
import type { StoredProvider } from './bind-plan.ts';

/**
 * Handles that must not be claimed. Where the handles share what the region holds, one
 * quarantined handle blocks them all: the job of its last holder may still program the region.
 */
export function withheldHandles(provider: StoredProvider): readonly AttachHandle[] {
  const { handles } = provider;
  const hasQuarantined =
    handlesShareContent(provider) && handles.some((each) => handleStateOf(each) === 'quarantined');
  const isKept = (each: AttachHandle) => isWithheld(each) || handleStateOf(each) === 'cleaning';
  if (hasQuarantined) return handles;
  if (!isPool(handles)) return handles.filter(isKept);
  // No bind takes a part of a set.
  return wholesOf(handles).flatMap((whole) =>
    whole.handles.some(isKept) ? whole.handles.filter((each) => isKept(each) || !each.claim) : [],
  );
}

/**
 * Handles whose units Placement must not allocate: those that are withheld, and those whose holder
 * has no allocation.
 */
export function reservedHandles(provider: StoredProvider): readonly AttachHandle[] {
  const withheld = new Set(withheldHandles(provider));
  return provider.handles.filter((each) => withheld.has(each) || each.claim?.isReserved);
}

type StoredRegion = Pick<StoredProvider, 'deployable'>;

/** Whether an image can be programmed into it. */
export function isProgrammable(region: StoredRegion): boolean {
  return regionRulesFor(region)?.isProgrammable ?? false;
}

/** Whether a program for the holder of one handle changes what the other handles reach. */
export function handlesShareContent(region: StoredRegion): boolean {
  return regionRulesFor(region)?.handlesShareContent ?? false;
}

/**
 * Whether a claim of one handle depends on the other handles of its provider.
 *
 * @param provider with some of its handles at least
 */
export function needsAllHandles(provider: StoredProvider): boolean {
  return isProgrammable(provider) || handlesShareContent(provider) || isPool(provider.handles);
}

function regionRulesFor({ deployable: { regionKind } }: StoredRegion): RegionRules | undefined {
  return regionKind && regionRules[regionKind];
}
