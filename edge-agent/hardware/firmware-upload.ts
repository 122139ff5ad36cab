// The kernel's class `firmware`: a driver of a card that takes images registers a node, and user
// space writes the image to it. Linux Documentation/ABI/testing/sysfs-class-firmware.
//
// INVARIANTS
// - An upload begins when the node is idle, after any earlier one was cancelled or has ended.
// - It has succeeded only when the node is idle again and names no error.

import type { Clock } from '#agent/clock.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import { HardwareError } from './errno.ts';
import type { Hardware } from './port.ts';

const pollMs = 500;
/** Intel's cards take up to half an hour for their flash. */
const uploadMs = 45 * 60_000;
/** The kernel copies the image into memory. */
const copyMs = 5 * 60_000;

interface UploadDeps {
  readonly sysfs: Sysfs;
  readonly hardware: Hardware;
  readonly clock: Clock;
}

export interface Upload {
  /** Under which operations of the card wait for each other. */
  readonly device: string;
  /** The node's folder below the sysfs root, such as `class/firmware/secure-update0`. */
  readonly node: string;
  readonly imagePath: string;
  readonly bytes: number;
}

/** @throws HardwareError with what the node names */
export async function uploadFirmware(
  deps: UploadDeps,
  upload: Upload,
  onProgress: (percent: number) => void,
): Promise<void> {
  const { sysfs, hardware } = deps;
  const { device, node, imagePath } = upload;
  await settle(deps, upload);
  onProgress(0);
  await hardware.writeText(device, `${node}/loading`, '1');
  // The kernel takes at most a page at once.
  const to = `of=${sysfs.resolve(`${node}/data`)}`;
  const args = [`if=${imagePath}`, to, 'bs=4096', 'conv=notrunc'];
  const copied = await hardware.exec(device, 'dd', args, copyMs);
  if (copied.exitCode !== 0) {
    await hardware.writeText(device, `${node}/loading`, '-1').catch(() => {});
    const said = copied.stderr.trim().split('\n').at(-1) ?? '';
    throw new HardwareError('EIO', `the kernel did not take the image: ${said.slice(0, 200)}`);
  }
  await hardware.writeText(device, `${node}/loading`, '0');
  await untilIdle(deps, upload, onProgress);
  const error = await hardware.readText(device, `${node}/error`);
  // `programming:hw-error`: the phase, and what went wrong in it.
  if (error !== '') throw new HardwareError('EIO', `the card refused the image (${error})`);
  onProgress(100);
}

/** An agent that died may have left the node waiting for data, or the card at work. */
async function settle(deps: UploadDeps, { device, node }: Upload): Promise<void> {
  const { hardware } = deps;
  const status = await hardware.readText(device, `${node}/status`);
  if (status === 'idle') {
    // The image of an upload that has not begun is dropped.
    const isLoading = (await hardware.readText(device, `${node}/loading`)) === '1';
    if (isLoading) await hardware.writeText(device, `${node}/loading`, '-1');
    return;
  }
  if (status === 'receiving') {
    await hardware.writeText(device, `${node}/loading`, '-1');
    return;
  }
  // The kernel refuses to cancel what can no longer be cancelled.
  await hardware.writeText(device, `${node}/cancel`, '1').catch(() => {});
  await untilIdle(deps, { device, node, imagePath: '', bytes: 0 }, () => {});
}

async function untilIdle(
  { hardware, clock }: UploadDeps,
  { device, node, bytes }: Upload,
  onProgress: (percent: number) => void,
): Promise<void> {
  const until = clock.monotonicMs() + uploadMs;
  for (;;) {
    const status = await hardware.readText(device, `${node}/status`);
    if (status === 'idle') return;
    if (clock.monotonicMs() >= until) {
      throw new HardwareError('ETIMEDOUT', `the card is still ${status} after 45 minutes`);
    }
    const left = Number(await hardware.readText(device, `${node}/remaining_size`));
    // While the card programs, the kernel has passed on all bytes.
    if (bytes > 0 && left >= 0 && left <= bytes) {
      onProgress(Math.min(99, Math.floor((100 * (bytes - left)) / bytes)));
    }
    await clock.sleep(pollMs);
  }
}
