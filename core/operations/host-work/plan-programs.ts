// What has to be programmed for a bind: which image into which region, and where the host finds it.

import { type GlanceImage, ImageUnusable } from '../../clients/glance.ts';
import { RequestRefused, ServiceUnavailable } from '../../clients/http.ts';
import type { ConsumerDeps } from '../../consumer-deps.ts';
import type { CheckRegionStep, ProgramStep } from '../../contracts/job-document.ts';
import { isProgrammable, needsProgram, type StoredProvider } from '../../domain/bind-plan.ts';
import type { AttachHandle, Deployable } from '../../domain/device.ts';
import { type Group, type ImageQuery, wantedImage } from '../../domain/device-profile.ts';
import type { ProviderUuid } from '../../domain/ids.ts';
import { RetryLater } from '../../domain/retry-later.ts';
import type { BoundArq } from '../../store/binding-items.ts';
import {
  type BindInBoot,
  behindOthers,
  isBeingProgrammed,
  neighboursIn,
  takeTurn,
} from '../bind/share-region.ts';

/** For one region: what it is to hold, or that it holds it. */
export interface RegionWork {
  readonly providerUuid: ProviderUuid;
  readonly step: ProgramStep | CheckRegionStep;
}

/** A resource provider, and the PCI address by which its host knows the device. */
export interface Place {
  readonly provider: StoredProvider;
  readonly address: string;
}

/** What one ARQ holds, and where. */
export interface Held {
  readonly arq: BoundArq;
  readonly handle: AttachHandle;
  readonly place: Place;
}

/** One instance's part of one provider. */
interface Share extends Place {
  readonly groups: readonly Group[];
}

const serviceAwaySeconds = 5;
const restoreRetrySeconds = 30;

/**
 * A step for each region of which an image or a function is wanted, in the ARQs' order.
 *
 * @throws ImageUnusable whose message says why there can be none
 * @throws RetryLater while Glance or S3 is away, another instance has the region programmed, or nobody
 *   knows whether one has it
 */
export async function planPrograms(
  deps: ConsumerDeps,
  bind: BindInBoot,
  held: readonly Held[],
): Promise<RegionWork[]> {
  const work: RegionWork[] = [];
  for (const [place, parts] of Map.groupBy(held, (each) => each.place)) {
    const step = await stepFor(deps, bind, { ...place, groups: parts.map(({ arq }) => arq.group) });
    const { providerUuid } = place.provider.deployable;
    if (step) work.push({ providerUuid, step: { ...step, bind_id: bind.binding.bindId } });
  }
  return work;
}

async function stepFor(
  deps: ConsumerDeps,
  bind: BindInBoot,
  share: Share,
): Promise<ProgramStep | CheckRegionStep | undefined> {
  const { provider, groups } = share;
  const { deployable } = provider;
  const wanted = distinct(groups.flatMap((group) => wantedImage(group) ?? []));
  if (wanted.length === 0 && !isProgrammable(provider)) return undefined;
  const neighbours = await neighboursIn(deps, provider, bind.binding.instanceUuid);
  const isTaken = isBeingProgrammed(neighbours, provider);
  if (!groups.some((group) => needsProgram(group, deployable))) {
    if (isTaken) throw behindOthers();
    const [only, ...more] = wanted;
    if (!only) return undefined;
    if (more.length === 0) return check(share, only);
  }
  const image = await patiently(deps, imageFor(deps, deployable, wanted));
  const isHeld = image.id === deployable.bitstreamId && !isTaken;
  const isDone =
    isHeld ||
    (neighbours.length > 0 && (await takeTurn(deps, bind, wanted, neighbours)) === 'done');
  if (isDone) return check(share, { by: 'bitstream_id', value: image.id });
  if (provider.handles.some(({ restoredAt }) => restoredAt !== undefined)) {
    throw new RetryLater(
      'Who has the region since the backup is not known yet.',
      restoreRetrySeconds,
    );
  }
  return patiently(deps, programStep(deps, deployable, image, share.address));
}

function check({ provider, address }: Share, { by, value }: ImageQuery): CheckRegionStep {
  const step = { kind: 'check-region', address, region: provider.deployable.region ?? '' } as const;
  const uuid = withHyphens(value);
  return by === 'function_id' ? { ...step, function_id: uuid } : { ...step, bitstream_id: uuid };
}

/** The one image that all of them are. @throws ImageUnusable */
async function imageFor(
  deps: ConsumerDeps,
  { name }: Deployable,
  wanted: readonly ImageQuery[],
): Promise<GlanceImage> {
  const found = await Promise.all(wanted.map((query) => deps.clients.glance.findImage(query)));
  const [image, ...others] = found;
  if (!image || others.some(({ id }) => id !== image.id)) {
    throw new ImageUnusable(`${name} cannot hold two images at once.`);
  }
  return image;
}

/** Profiles may spell uuids without. */
function withHyphens(uuid: string): string {
  const hex = uuid.replaceAll('-', '').toLowerCase();
  return [0, 8, 12, 16, 20].map((from, index, all) => hex.slice(from, all[index + 1])).join('-');
}

async function programStep(
  deps: ConsumerDeps,
  deployable: Deployable,
  image: GlanceImage,
  address: string,
): Promise<ProgramStep> {
  const { name, region, regionTypeUuid } = deployable;
  if (region === undefined || !isProgrammable({ deployable })) {
    throw new ImageUnusable(`${name} cannot be programmed: it is not a reconfigurable region.`);
  }
  const staged = await deps.clients.staging.stage(image);
  return {
    kind: 'program',
    address,
    region,
    image: { id: image.id, ...staged },
    ...(regionTypeUuid && { region_type_uuid: regionTypeUuid }),
  };
}

/** The step for one image, whatever the region holds. @throws ImageUnusable, RetryLater */
export async function imageStep(
  deps: ConsumerDeps,
  deployable: Deployable,
  address: string,
  imageId: string,
): Promise<ProgramStep> {
  const query = { by: 'bitstream_id', value: imageId } as const;
  const work = async () =>
    programStep(deps, deployable, await deps.clients.glance.findImage(query), address);
  return patiently(deps, work());
}

function distinct(queries: readonly ImageQuery[]): ImageQuery[] {
  return [...new Map(queries.map((query) => [`${query.by} ${query.value}`, query])).values()];
}

/** What lasts fails the bind, with a sentence; what may pass is tried again, up to the deadline. */
async function patiently<T>(deps: ConsumerDeps, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof RequestRefused) throw new ImageUnusable(error.message);
    if (!(error instanceof ServiceUnavailable)) throw error;
    if (!error.isWorthRetrying) throw new ImageUnusable(error.message);
    deps.log.warn('An image cannot be brought to the host yet.', { error });
    throw new RetryLater(error.message, serviceAwaySeconds);
  }
}
