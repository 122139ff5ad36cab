// What has to be programmed for a bind: which image into which region, and where the host finds it.

import { type GlanceImage, ImageUnusable } from '../clients/glance.ts';
import { RequestRefused, ServiceUnavailable } from '../clients/http.ts';
import type { ConsumerDeps } from '../consumer-deps.ts';
import type { CheckRegionStep, ProgramStep } from '../contracts/job-document.ts';
import type { InstanceBinding } from '../domain/arq.ts';
import { needsProgram, type StoredProvider } from '../domain/bind-plan.ts';
import type { Deployable } from '../domain/device.ts';
import { type ImageQuery, wantedImage } from '../domain/device-profile.ts';
import type { ProviderUuid } from '../domain/ids.ts';
import { RetryLater } from '../domain/retry-later.ts';
import type { BoundArq } from '../store/binding-items.ts';
import { isBeingProgrammed, neighboursIn, takeTurn } from './share-region.ts';

/** For one region: what it is to hold, or that it holds it. */
export interface RegionWork {
  readonly providerUuid: ProviderUuid;
  readonly step: ProgramStep | CheckRegionStep;
}

/** What its host has, in the boot it is in. */
interface Where {
  readonly providers: ReadonlyMap<ProviderUuid, StoredProvider>;
  /** By device. */
  readonly addresses: ReadonlyMap<string, string>;
  readonly bootId: string | undefined;
}

/** One instance's part of one device. */
interface Share {
  readonly binding: InstanceBinding;
  readonly arqs: readonly BoundArq[];
  readonly provider: StoredProvider;
  readonly address: string;
  readonly bootId: string | undefined;
}

const serviceAwaySeconds = 5;
const behindOthersSeconds = 1;

/**
 * A step for each region of which an image or a function is wanted, in the ARQs' order.
 *
 * @throws ImageUnusable whose message says why there can be none
 * @throws RetryLater while Glance or S3 is away, or another instance has the region programmed
 */
export async function planPrograms(
  deps: ConsumerDeps,
  binding: InstanceBinding,
  arqs: readonly BoundArq[],
  { providers, addresses, bootId }: Where,
): Promise<RegionWork[]> {
  const work: RegionWork[] = [];
  for (const [uuid, held] of Map.groupBy(arqs, (arq) => arq.binding.providerUuid)) {
    const provider = providers.get(uuid);
    const address = addresses.get(provider?.deployable.deviceUuid ?? '');
    if (!provider || !address) continue;
    const step = await stepFor(deps, { binding, arqs: held, provider, address, bootId });
    if (step) work.push({ providerUuid: uuid, step: { ...step, bind_id: binding.bindId } });
  }
  return work;
}

async function stepFor(
  deps: ConsumerDeps,
  share: Share,
): Promise<ProgramStep | CheckRegionStep | undefined> {
  const { binding, arqs, provider, bootId } = share;
  const { deployable } = provider;
  const wanted = distinct(arqs.flatMap((arq) => wantedImage(arq.group) ?? []));
  if (wanted.length === 0 && deployable.region === undefined) return undefined;
  const neighbours = await neighboursIn(deps, provider, binding.instanceUuid);
  const isTaken = isBeingProgrammed(neighbours, provider);
  if (!arqs.some(({ group }) => needsProgram(group, deployable))) {
    if (isTaken) throw new RetryLater('Another instance has it programmed.', behindOthersSeconds);
    const [only, ...more] = wanted;
    if (!only) return undefined;
    if (more.length === 0) return check(share, only);
  }
  const image = await patiently(deps, imageFor(deps, deployable, wanted));
  const isHeld = image.id === deployable.bitstreamId && !isTaken;
  const isDone =
    isHeld ||
    (neighbours.length > 0 &&
      (await takeTurn(deps, binding, wanted, neighbours, bootId)) === 'done');
  if (isDone) return check(share, { by: 'bitstream_id', value: image.id });
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
  { name, region, regionTypeUuid }: Deployable,
  image: GlanceImage,
  address: string,
): Promise<ProgramStep> {
  if (region === undefined) throw new ImageUnusable(`${name} is no region that takes images.`);
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
