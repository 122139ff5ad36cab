// How a step of a job names a device and an attach handle.

import type { StepHandle } from '#core/contracts/jobs/job-document.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';

export function stepPlace({ driver, address }: Pick<Device, 'driver' | 'address'>) {
  return { driver, address };
}

export function toStepHandle({ uuid, type, info, epoch }: AttachHandle): StepHandle {
  return { uuid, type, info, epoch };
}
