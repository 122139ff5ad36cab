// What a bind needs of a region: nothing, a check of what it holds, or an image. Pure:
// program-steps.ts finds and stages the image.

import type { PrepareRegionStep } from '#core/contracts/jobs/job-document.ts';
import { needsProgram, type StoredProvider } from '#core/domain/arq/bind-plan.ts';
import { isProgrammable } from '#core/domain/arq/region-handles.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { type Group, type ImageQuery, wantedImage } from '#core/domain/profile/device-profile.ts';
import { withHyphens } from '#core/domain/uuid-form.ts';
import type { BoundArq } from '#core/store/arqs/binding-items.ts';
import { isBeingProgrammed } from './share-region.ts';
import { stepPlace } from './step-place.ts';

/** A resource provider and its device. */
export interface Place {
  readonly provider: StoredProvider;
  readonly device: Device;
}

/** An ARQ of the bind, with the handle that it has claimed. */
export interface PlacedArq {
  readonly arq: BoundArq;
  readonly handle: AttachHandle;
  readonly place: Place;
}

/** What one bind has of one provider. */
export interface Share extends Place {
  readonly providerUuid: ProviderUuid;
  readonly groups: readonly Group[];
  readonly queries: readonly ImageQuery[];
}

/** `wait`: another instance has the region programmed. */
export type ProgramPlan =
  | { readonly need: 'nothing' }
  | { readonly need: 'wait' }
  | { readonly need: 'check'; readonly expected: ImageQuery }
  | {
      readonly need: 'image';
      /** All of these must be one image. */
      readonly queries: readonly ImageQuery[];
      /** The image in Glance that the region holds, and keeps while the bind is prepared. */
      readonly present: string | undefined;
    };

/** In the ARQs' order; without providers of which the bind needs nothing but handles. */
export function divideByProvider(placed: readonly PlacedArq[]): Share[] {
  const shares = [...Map.groupBy(placed, ({ place }) => place)].map(([place, parts]): Share => {
    const groups = parts.map(({ arq }) => arq.group);
    const queries = distinct(groups.flatMap((group) => wantedImage(group) ?? []));
    return { ...place, providerUuid: place.provider.deployable.providerUuid, groups, queries };
  });
  return shares.filter(({ queries, provider }) => queries.length > 0 || isProgrammable(provider));
}

/** @param neighbours ARQs of other instances that hold a part of the region */
export function planProgram(
  { provider, groups, queries }: Share,
  neighbours: readonly BoundArq[],
): ProgramPlan {
  const { deployable } = provider;
  const isTaken = isBeingProgrammed(neighbours, provider);
  if (!groups.some((group) => needsProgram(group, deployable))) {
    if (isTaken) return { need: 'wait' };
    const [only, ...more] = queries;
    if (!only) return { need: 'nothing' };
    if (more.length === 0) return { need: 'check', expected: only };
  }
  return { need: 'image', queries, present: isTaken ? undefined : deployable.bitstreamId };
}

/** The step that fails unless the region holds the image or function. */
export function checkStep(
  { provider, device }: Place,
  { by, value }: ImageQuery,
): PrepareRegionStep {
  const uuid = withHyphens(value);
  return {
    kind: 'prepare',
    ...stepPlace(device),
    region: provider.deployable.region ?? '',
    content: by === 'function_id' ? { function_id: uuid } : { bitstream_id: uuid },
  };
}

function distinct(queries: readonly ImageQuery[]): ImageQuery[] {
  return [...new Map(queries.map((query) => [`${query.by} ${query.value}`, query])).values()];
}
