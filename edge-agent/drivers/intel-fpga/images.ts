// Writes an image into the region of a port, and verifies that the port shows its function. The
// caller has seen to it that the physical function has the port.

import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { HardwareError } from '#agent/hardware/errno.ts';
import { checkImage, type GbsImage, ImageRefused } from '#agent/images/image-check.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import { type Engine, type Port, readFunction, readPorts } from './engines.ts';
import { clearErrors } from './errors.ts';
import type { PortsDeps } from './ports.ts';

/** The kernel pushes each word of the image; the largest take a minute. */
const programMs = 150_000;
/** The kernel enables the port within milliseconds. */
const readyMs = 10_000;
const pollMs = 200;

interface Programmed {
  /** What the port shows. */
  readonly functionUuid: string;
  /** Registers that had errors before. */
  readonly cleared: string;
}

/** @throws ImageRefused for what this card cannot take; else a sentence */
export async function program(
  deps: PortsDeps,
  fn: PciFunction,
  engine: Engine,
  portNumber: number,
  path: string,
): Promise<Programmed> {
  const { context, records } = deps;
  const image = await checkImage(path, engine.interface);
  const port = await findPort(deps, fn, portNumber);
  const isByTool = engine.stack === 'intel-fpga' || image.userClocks.length > 0;
  if (isByTool) await checkTool(deps, image, portNumber);
  const cleared = await clearErrors(context, engine, port);
  // The content of the region is unknown from here on, until it is verified.
  await records.setContent(engine.address, portNumber, { functions: [] });
  if (isByTool) await writeByTool(deps, engine, path);
  else await writeByKernel(deps, engine, portNumber, path, image);
  const functionUuid = await shownFunction(deps, engine, await findPort(deps, fn, portNumber));
  if (!image.functionUuids.includes(functionUuid)) {
    throw new Error(
      `Port ${portNumber} of ${engine.address} shows function ${functionUuid}, ` +
        `and the image has ${image.functionUuid}.`,
    );
  }
  return { functionUuid, cleared };
}

export async function findPort(
  { context }: PortsDeps,
  fn: PciFunction,
  number: number,
): Promise<Port> {
  const port = (await readPorts(context, fn)).find((each) => each.number === number);
  if (!port) throw new Error(`The card ${fn.address} has no port ${number}.`);
  return port;
}

async function writeByKernel(
  { context }: PortsDeps,
  engine: Engine,
  port: number,
  path: string,
  { bitstreamAt }: GbsImage,
): Promise<void> {
  const { address, node } = engine;
  // The hardware takes the bitstream without the header and the metadata of the file.
  const args = ['dfl-program', node, String(port), path, String(bitstreamAt)];
  try {
    await context.hardware.help(address, args, programMs);
  } catch (error) {
    if (!(error instanceof HardwareError)) throw error;
    const status = await readStatus(context, engine).catch(() => '');
    throw new HardwareError(error.code, `port ${port} did not take the image${status}`);
  }
}

/** The manager's lines, such as `reconfig CRC error` (ABI/testing/sysfs-class-fpga-manager). */
async function readStatus(
  { sysfs, hardware }: PortsDeps['context'],
  { address, path }: Engine,
): Promise<string> {
  const [manager] = (sysfs.list(path) ?? []).filter((each) => /^dfl-fme-mgr\.\d+$/.test(each));
  const folder = `${path}/${manager}/fpga_manager`;
  const [name] = (sysfs.list(folder) ?? []).filter((each) => /^fpga\d+$/.test(each));
  const read = (file: string) => hardware.readText(address, `${folder}/${name}/${file}`);
  const lines = [await read('state'), ...(await read('status')).split('\n')];
  const shown = lines.filter((line) => /^[a-zA-Z ]{1,64}$/.test(line));
  return shown.length > 0 ? ` (${shown.join(', ')})` : '';
}

async function checkTool(
  { settings: { fpgaconf } }: PortsDeps,
  { userClocks }: GbsImage,
  port: number,
): Promise<void> {
  const why =
    userClocks.length > 0 ? `a user clock of ${userClocks.join(' and ')} MHz` : 'this driver';
  try {
    await (await open(fpgaconf, constants.O_RDONLY)).close();
  } catch {
    throw new ImageRefused(`${fpgaconf} of OPAE is not installed, which ${why} needs.`);
  }
  // The tool has no option for another one.
  if (port !== 0) throw new ImageRefused(`${fpgaconf} writes port 0 alone, and ${why} needs it.`);
}

/** Every part of the address: without the domain the tool would take the wrong of two cards. */
async function writeByTool(
  { settings: { fpgaconf }, context }: PortsDeps,
  { address }: Engine,
  path: string,
): Promise<void> {
  const parsed = parsePciAddress(address);
  if (!parsed) throw new Error(`${address} is not a PCI address.`);
  const { domain, bus, device, function: fn } = parsed;
  const place = `--segment 0x${domain} --bus 0x${bus} --device 0x${device} --function 0x${fn}`;
  const answer = await context.hardware.exec(
    address,
    fpgaconf,
    [...place.split(' '), path],
    programMs,
  );
  if (answer.exitCode === 0) return;
  const said = `${answer.stderr}\n${answer.stdout}`.replaceAll(/[^\x20-\x7e]+/g, ' ').trim();
  throw new Error(`${fpgaconf} ended with ${answer.exitCode}: ${said.slice(0, 200)}`);
}

async function shownFunction(
  { context }: PortsDeps,
  { address }: Engine,
  port: Port,
): Promise<string> {
  const until = context.clock.monotonicMs() + readyMs;
  for (;;) {
    try {
      return await readFunction(context, address, port);
    } catch (error) {
      const isBusy = error instanceof HardwareError && error.code === 'EBUSY';
      if (!isBusy || context.clock.monotonicMs() >= until) throw error;
    }
    await context.clock.sleep(pollMs);
  }
}
