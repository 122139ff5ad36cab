// What has to be programmed for a bind: which image into which region, and where the host finds it.

import { type GlanceImage, ImageUnusable } from '../clients/glance.ts';
import { RequestRefused, ServiceUnavailable } from '../clients/http.ts';
import type { ConsumerDeps } from '../consumer-deps.ts';
import type { CheckRegionStep, ProgramStep } from '../contracts/job-document.ts';
import { isUsedByOthers, needsProgram, type StoredProvider } from '../domain/bind-plan.ts';
import type { Deployable } from '../domain/device.ts';
import { type ImageQuery, wantedImage } from '../domain/device-profile.ts';
import type { ProviderUuid } from '../domain/ids.ts';
import { RetryLater } from '../domain/retry-later.ts';
import type { BoundArq } from '../store/binding-items.ts';

/** For one region: what it is to hold, or that it holds it. */
export interface RegionWork {
  readonly providerUuid: ProviderUuid;
  readonly step: ProgramStep | CheckRegionStep;
}

const serviceAwaySeconds = 5;

/**
 * A step for each region of which an image or a function is wanted, in the ARQs' order.
 *
 * @throws ImageUnusable whose message says why there can be none
 * @throws RetryLater while Glance or S3 is away
 */
export async function planPrograms(
  deps: ConsumerDeps,
  arqs: readonly BoundArq[],
  providers: ReadonlyMap<ProviderUuid, StoredProvider>,
  addresses: ReadonlyMap<string, string>,
): Promise<RegionWork[]> {
  const work: RegionWork[] = [];
  for (const [uuid, held] of Map.groupBy(arqs, (arq) => arq.binding.providerUuid)) {
    const provider = providers.get(uuid);
    const address = addresses.get(provider?.deployable.deviceUuid ?? '');
    const wanted = distinct(held.flatMap((arq) => wantedImage(arq.group) ?? []));
    if (!provider || !address || wanted.length === 0) continue;
    const step = await patiently(deps, stepFor(deps, provider, held, address));
    const [first] = held;
    work.push({ providerUuid: uuid, step: { ...step, bind_id: first?.binding.bindId } });
  }
  return work;
}

async function stepFor(
  deps: ConsumerDeps,
  { deployable, handles }: StoredProvider,
  arqs: readonly BoundArq[],
  address: string,
): Promise<ProgramStep | CheckRegionStep> {
  const wanted = distinct(arqs.flatMap((arq) => wantedImage(arq.group) ?? []));
  const check = { kind: 'check-region', address, region: deployable.region ?? '' } as const;
  const [only] = wanted;
  if (only && wanted.length === 1 && !arqs.some(({ group }) => needsProgram(group, deployable))) {
    return only.by === 'function_id'
      ? { ...check, function_id: withHyphens(only.value) }
      : { ...check, bitstream_id: withHyphens(only.value) };
  }
  const found = await Promise.all(wanted.map((query) => deps.clients.glance.findImage(query)));
  const [image, ...others] = found;
  if (!image || others.some(({ id }) => id !== image.id)) {
    throw new ImageUnusable(`${deployable.name} cannot hold two images at once.`);
  }
  if (image.id === deployable.bitstreamId) return { ...check, bitstream_id: image.id };
  const instanceUuid = arqs[0]?.binding.instanceUuid;
  // Binds that are made at the same time do not see each other in their plans.
  if (instanceUuid && isUsedByOthers(handles, instanceUuid)) {
    throw new ImageUnusable(`${deployable.name} cannot be programmed: another instance uses it.`);
  }
  return programStep(deps, deployable, image, address);
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
