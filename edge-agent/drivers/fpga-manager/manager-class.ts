// The kernel's class fpga_manager: Linux Documentation/ABI/testing/sysfs-class-fpga-manager. The
// files `flags` and `firmware` are of AMD's kernels alone (Linux Drivers, FPGA programming using
// sysfs attributes): mainline programs through device-tree overlays, which the agent never makes.

import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import { checkImage, type GbsImage, ImageRefused } from '#agent/images/image-check.ts';

const directory = 'class/fpga_manager';
/** Full images of large parts take tens of seconds. */
const programMs = 150_000;

export interface Manager {
  /** `Xilinx ZynqMP FPGA Manager`. */
  readonly model: string;
  readonly state: string;
  readonly canProgram: boolean;
}

/** Names in the class. @throws if it cannot be listed */
export function managerNames({ sysfs }: DriverContext): readonly string[] {
  return sysfs.list(directory) ?? [];
}

/** Undefined if there is none of that name. @throws if it cannot be read */
export async function readManager(
  { sysfs, hardware }: DriverContext,
  name: string,
): Promise<Manager | undefined> {
  const files = sysfs.list(`${directory}/${name}`);
  if (!files) return undefined;
  const model = await hardware.readText(name, `${directory}/${name}/name`);
  if (!/^[a-zA-Z0-9][a-zA-Z0-9 _.-]{0,62}$/.test(model)) throw new Error('its name is not valid');
  const state = await hardware.readText(name, `${directory}/${name}/state`);
  if (!/^[a-z ]{1,32}$/.test(state)) throw new Error('its state is not valid');
  return { model, state, canProgram: files.includes('firmware') };
}

interface Writing {
  readonly manager: string;
  readonly interface: string;
  readonly isPartial: boolean;
  readonly firmwareDirectory: string;
}

/** Bytes of a `.bit` file, whose header the managers do not take. */
const bitHeader = Buffer.from('00090ff00ff00ff00ff000', 'hex');

/** @throws ImageRefused for what no manager takes */
export async function checkContent(path: string, interfaceUuid: string): Promise<GbsImage> {
  const image = await checkImage(path, interfaceUuid);
  if (image.userClocks.length > 0) {
    throw new ImageRefused('The image asks for a user clock, which a manager does not set.');
  }
  const file = await open(path, 'r');
  try {
    const head = Buffer.alloc(bitHeader.length);
    await file.read(head, 0, head.length, image.bitstreamAt);
    if (!head.equals(bitHeader)) return image;
  } finally {
    await file.close();
  }
  throw new ImageRefused('The bitstream is a .bit file, and the kernel takes a .bin file.');
}

/** Writes the image, and verifies that the FPGA operates. @throws HardwareError, or a sentence */
export async function writeImage(
  context: DriverContext,
  writing: Writing,
  path: string,
): Promise<GbsImage> {
  const { manager, firmwareDirectory, isPartial } = writing;
  const image = await checkContent(path, writing.interface);
  const current = await readManager(context, manager);
  if (!current?.canProgram) throw new Error(withoutFirmware(manager));
  const name = `cyborg-agent-${manager}.bin`;
  const file = join(firmwareDirectory, name);
  try {
    await place(path, image.bitstreamAt, file);
    await load(context, manager, name, isPartial);
  } finally {
    await rm(file, { force: true });
  }
  return image;
}

export function withoutFirmware(manager: string): string {
  return (
    `The kernel has no file firmware for ${manager}: it takes images through device-tree ` +
    'overlays alone, which the agent does not make.'
  );
}

/** The kernel must never see half an image. */
async function place(from: string, start: number, to: string): Promise<void> {
  const partial = `${to}.part`;
  try {
    // What an agent has left that died here.
    await rm(partial, { force: true });
    await pipeline(
      createReadStream(from, { start }),
      createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true }),
    );
    await rename(partial, to);
  } catch (error) {
    await rm(partial, { force: true });
    const { code = 'EIO' } = error as NodeJS.ErrnoException;
    const hint = code === 'EROFS' ? ': the unit of the agent needs ReadWritePaths' : '';
    throw new HardwareError(code, `${to} cannot be written${hint}`);
  }
}

async function load(
  context: DriverContext,
  manager: string,
  name: string,
  isPartial: boolean,
): Promise<void> {
  const { hardware } = context;
  const folder = `${directory}/${manager}`;
  await hardware.writeText(manager, `${folder}/flags`, isPartial ? '1' : '0');
  try {
    await hardware.writeText(manager, `${folder}/firmware`, name, programMs);
  } catch (error) {
    if (!(error instanceof HardwareError)) throw error;
    const shown = await shownBy(context, manager).catch(() => '');
    throw new HardwareError(error.code, `${manager} did not take the image${shown}`);
  }
  const after = await readManager(context, manager);
  if (after?.state !== 'operating') {
    const shown = await shownBy(context, manager);
    throw new Error(`${manager} does not operate after the image was written${shown}.`);
  }
}

/** The state, and the lines of the status, such as `reconfig CRC error`. */
async function shownBy({ hardware }: DriverContext, manager: string): Promise<string> {
  const read = (file: string) => hardware.readText(manager, `${directory}/${manager}/${file}`);
  const lines = [await read('state'), ...(await read('status').catch(() => '')).split('\n')];
  const shown = lines.filter((line) => /^[a-zA-Z ]{1,64}$/.test(line));
  return shown.length > 0 ? ` (${shown.join(', ')})` : '';
}
