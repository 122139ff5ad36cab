// Steps that bring images into regions: finds the image that a plan needs, and stages it for the
// host.

import { RequestRefused, ServiceUnavailable } from '#core/clients/http.ts';
import { type GlanceImage, ImageUnusable } from '#core/clients/openstack/glance.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { ComponentStep, PrepareRegionStep } from '#core/contracts/jobs/job-document.ts';
import { isProgrammable } from '#core/domain/arq/region-handles.ts';
import type { Deployable, Device } from '#core/domain/device/device.ts';
import { readComponentImage } from '#core/domain/device/firmware/component-image.ts';
import type { HostProgram } from '#core/domain/host-work/host-work.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import type { ImageQuery } from '#core/domain/profile/device-profile.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { BoundArq } from '#core/store/arqs/binding-items.ts';
import {
  checkStep,
  divideByProvider,
  type PlacedArq,
  type ProgramPlan,
  planProgram,
  type Share,
} from './plan-programs.ts';
import { type BindInBoot, behindOthers, neighboursIn, takeTurn } from './share-region.ts';
import { stepPlace } from './step-place.ts';

/** Brings an image into a region, or checks that the region holds it. */
interface RegionStep {
  readonly providerUuid: ProviderUuid;
  readonly step: PrepareRegionStep;
}

const serviceAwaySeconds = 5;
const restoreRetrySeconds = 30;

/**
 * A step for each region of which an image or a function is wanted, in the ARQs' order.
 *
 * @throws ImageUnusable whose message says why there can be none
 * @throws RetryLater while Glance or S3 is away, another instance has the region programmed, or
 *   the holders of the region's handles are not known
 */
export async function programSteps(
  deps: ConsumerDeps,
  bind: BindInBoot,
  placed: readonly PlacedArq[],
): Promise<RegionStep[]> {
  const steps: RegionStep[] = [];
  for (const share of divideByProvider(placed)) {
    const neighbours = await neighboursIn(deps, share.provider, bind.binding.instanceUuid);
    const step = await resolve(deps, bind, share, neighbours, planProgram(share, neighbours));
    const { providerUuid } = share;
    if (step) steps.push({ providerUuid, step: { ...step, bind_id: bind.binding.bindId } });
  }
  return steps;
}

async function resolve(
  deps: ConsumerDeps,
  bind: BindInBoot,
  share: Share,
  neighbours: readonly BoundArq[],
  plan: ProgramPlan,
): Promise<PrepareRegionStep | undefined> {
  if (plan.need === 'nothing') return undefined;
  if (plan.need === 'wait') throw behindOthers();
  if (plan.need === 'check') return checkStep(share, plan.expected);
  const { deployable, handles } = share.provider;
  const image = await untilAvailable(deps, imageFor(deps, deployable, plan.queries));
  const isDone =
    image.id === plan.present ||
    (neighbours.length > 0 && (await takeTurn(deps, bind, plan.queries, neighbours)) === 'done');
  if (isDone) return checkStep(share, { by: 'bitstream_id', value: image.id });
  if (handles.some(({ restoredAt }) => restoredAt !== undefined)) {
    throw new RetryLater(
      'The holders of the region since the backup are not known yet.',
      restoreRetrySeconds,
    );
  }
  return untilAvailable(deps, stagedStep(deps, deployable, image, share.device));
}

/** The step for one image, whatever the region holds. @throws ImageUnusable, RetryLater */
export async function imageStep(
  deps: ConsumerDeps,
  deployable: Deployable,
  device: Device,
  imageId: string,
): Promise<PrepareRegionStep> {
  const query = { by: 'bitstream_id', value: imageId } as const;
  const work = async () =>
    stagedStep(deps, deployable, await deps.clients.glance.findImage(query), device);
  return untilAvailable(deps, work());
}

/** The step for a component of a device. @throws ImageUnusable, RetryLater */
export async function componentStep(
  deps: ConsumerDeps,
  device: Device,
  { name, version }: NonNullable<HostProgram['component']>,
  imageId: string,
): Promise<ComponentStep> {
  const work = async (): Promise<ComponentStep> => {
    const image = await deps.clients.glance.findImage({ by: 'bitstream_id', value: imageId });
    const target = { ...device, component: name };
    // Its properties may have changed since it was asked for.
    const read = readComponentImage(image, target, deps.settings);
    if ('refusal' in read) throw new ImageUnusable(read.refusal);
    if (read.version !== version) {
      throw new ImageUnusable(`Image ${imageId} has version ${read.version} now, not ${version}.`);
    }
    const staged = await deps.clients.staging.stage(image);
    return {
      kind: 'program',
      ...stepPlace(device),
      component: name,
      component_version: version,
      image: { id: image.id, ...staged },
    };
  };
  return untilAvailable(deps, work());
}

/** The one image that all of them are. @throws ImageUnusable */
async function imageFor(
  deps: ConsumerDeps,
  { name }: Deployable,
  queries: readonly ImageQuery[],
): Promise<GlanceImage> {
  const images = await Promise.all(queries.map((query) => deps.clients.glance.findImage(query)));
  const [image, ...others] = images;
  if (!image || others.some(({ id }) => id !== image.id)) {
    throw new ImageUnusable(`${name} cannot hold two images at once.`);
  }
  return image;
}

async function stagedStep(
  deps: ConsumerDeps,
  deployable: Deployable,
  image: GlanceImage,
  device: Device,
): Promise<PrepareRegionStep> {
  const { name, region, regionTypeUuid } = deployable;
  if (region === undefined || !isProgrammable({ deployable })) {
    throw new ImageUnusable(`${name} is not a reconfigurable region.`);
  }
  const staged = await deps.clients.staging.stage(image);
  return {
    kind: 'prepare',
    ...stepPlace(device),
    region,
    content: { image: { id: image.id, ...staged }, ...present({ interface: regionTypeUuid }) },
  };
}

/**
 * A lasting fault fails the bind, with its message; a passing one is retried up to the deadline.
 */
async function untilAvailable<T>(deps: ConsumerDeps, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof RequestRefused) throw new ImageUnusable(error.message);
    if (!(error instanceof ServiceUnavailable)) throw error;
    if (!error.isWorthRetrying) throw new ImageUnusable(error.message);
    deps.log.warn('Image not staged yet', { error });
    throw new RetryLater(error.message, serviceAwaySeconds);
  }
}
