// Makes a region hold an image, or checks that it holds one.

import type { Downloads } from '#agent/images/download.ts';
import type { PrepareRegionStep } from '#core/contracts/jobs/job-document.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { type FindDeps, findDevice, StepFailed, StepRefused } from './find-device.ts';

/** The job was stopped at a safe point: finished steps stay done and are recorded. */
export class JobStopped extends Error {
  override readonly name = 'JobStopped';
}

interface RegionContext extends FindDeps {
  readonly downloads: Downloads;
  /** Checked while the step has not touched the device. */
  readonly stop: AbortSignal;
  readonly claim: (kind: 'prepare') => Promise<void>;
  readonly onProgress: (percent: number) => void;
}

/** @throws StepFailed, JobStopped, ImageRefused, or the driver's error */
export async function prepareRegion(
  context: RegionContext,
  step: PrepareRegionStep,
): Promise<void> {
  const { content } = step;
  const { driver, device } = await findDevice(context, step);
  const region = device.regions.find(({ name }) => name === step.region);
  if (!region) throw new StepFailed(`The device has no region ${step.region}.`);
  if (!('image' in content)) return checkContent(region, content);
  const { images } = driver;
  if (!images) throw new StepFailed(`Driver ${driver.name} does not program.`);
  const interfaceUuid = chooseInterface(region, content.interface);
  const { downloads, stop, onProgress } = context;
  const { address } = step;
  let isTouched = false;
  try {
    await downloads.withImage(content.image, stop, async (imagePath) => {
      await images.check(imagePath, interfaceUuid);
      if (stop.aborted) throw new JobStopped();
      await context.claim('prepare');
      isTouched = true;
      const image = { address, region: step.region, imageId: content.image.id, imagePath };
      await images.write(image, onProgress);
    });
  } catch (error) {
    // An aborted download is not a failure of the job.
    throw stop.aborted && !isTouched ? new JobStopped() : error;
  }
}

type Region = ReportedDevice['regions'][number];
type Content = { readonly bitstream_id: string } | { readonly function_id: string };

/** A region holds one image, and all functions of that image. */
function checkContent(region: Region, content: Content): void {
  const [expected, held] =
    'bitstream_id' in content
      ? [content.bitstream_id, [region['bitstream-id']]]
      : [content.function_id, [region['function-uuid'], ...(region['function-uuids'] ?? [])]];
  const ids = held.flatMap((id) => id?.toLowerCase() ?? []);
  if (!ids.includes(expected.toLowerCase())) {
    const held = ids.join(', ') || 'nothing';
    throw new StepRefused(`Region ${region.name} holds ${held}, not ${expected}.`);
  }
}

/** @throws StepFailed if the region's interface is unknown or contradicts the request */
function chooseInterface(region: Region, requested: string | undefined): string {
  const reported = region['region-type-uuid'] ?? requested;
  const expected = requested ?? reported;
  if (!reported || !expected) {
    throw new StepRefused('The interface of the region is unknown, so no image can be checked.');
  }
  if (reported.toLowerCase() !== expected.toLowerCase()) {
    throw new StepRefused(`The region has interface ${reported}, not ${expected}.`);
  }
  return reported;
}
