// What a PCI function shows before and after a reset: its identity, registers and link. What a
// reset does and does not erase is in README.md.

import type { Hardware } from '#agent/hardware/port.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import { present } from '#core/shapes/derive/present.ts';

/** In the order of what they reach: the function, its bus, and its place in the kernel. */
export const resetRungs = ['function', 'bus', 'rescan'] as const;
export type ResetRung = (typeof resetRungs)[number];

/** With the checks before and after. A bind waits for a release of 300 s at most. */
export function cleanSeconds(rungs: readonly ResetRung[]): number {
  return 75 * (1 + rungs.length);
}

/** The header's first 64 bytes; what guests can change in the rest is undone by the reset. */
const headerBytes = 64;

export interface FunctionState {
  readonly vendorId: number;
  readonly productId: number;
  readonly command: number;
  /** Six base address registers in hexadecimal digits. */
  readonly bars: string;
  /** Absent if the function has no link of its own, as a virtual function. */
  readonly link?: { readonly text: string; readonly speed: number; readonly width: number };
}

/** Pure. A faster link is no fault: an idle link may have been slowed down to save power. */
export function faultAfterReset(
  before: FunctionState,
  after: FunctionState,
  {
    isVirtual,
    isRescanned = false,
  }: { readonly isVirtual: boolean; readonly isRescanned?: boolean },
): string | undefined {
  // A virtual function always has all ones for its ids, but not for its command register.
  if (after.command === 0xffff || (!isVirtual && after.vendorId === 0xffff)) {
    return 'it fell off the bus';
  }
  if (after.vendorId !== before.vendorId) return 'its vendor id has changed';
  if (after.productId !== before.productId) return 'its device id has changed';
  if (isRescanned) {
    // The kernel gives it other addresses, and its driver another command.
    if (hasNoBars(after) && !hasNoBars(before)) return 'its base address registers are empty';
  } else {
    if (after.bars !== before.bars) return 'its base address registers have changed';
    if (after.command !== before.command) return 'its command register has changed';
  }
  if (!before.link) return undefined;
  if (!after.link) return 'its link is down';
  const isSlower = after.link.speed < before.link.speed || after.link.width < before.link.width;
  return isSlower ? `its link is ${after.link.text} and was ${before.link.text}` : undefined;
}

function hasNoBars({ bars }: FunctionState): boolean {
  return /^0*$/.test(bars);
}

export function toEvidence({ vendorId, command, bars, link }: FunctionState): Evidence {
  return {
    vendor_id: hexadecimal(vendorId),
    command: hexadecimal(command),
    bars,
    ...present({ link: link?.text }),
  };
}

/** @throws HardwareError if the function cannot be read */
export async function readState(hardware: Hardware, fn: PciFunction): Promise<FunctionState> {
  const { address, path } = fn;
  const config = await hardware.readBytes(address, `${path}/config`, headerBytes);
  if (config.length < headerBytes) throw new Error(`${path}/config has ${config.length} bytes.`);
  const link = await readLink(hardware, fn);
  return {
    vendorId: config.readUInt16LE(0),
    productId: config.readUInt16LE(2),
    command: config.readUInt16LE(4),
    bars: config.toString('hex', 0x10, 0x28),
    ...present({ link }),
  };
}

/** `16.0 GT/s PCIe` and `16`; conventional PCI has neither, a broken link `Unknown` or 0. */
async function readLink(hardware: Hardware, { address, path }: PciFunction) {
  const read = (name: string) =>
    hardware.readText(address, `${path}/${name}`).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'EINVAL') return '';
      throw error;
    });
  const [speedText, widthText] = [
    await read('current_link_speed'),
    await read('current_link_width'),
  ];
  const [speed, width] = [Number.parseFloat(speedText), Number.parseInt(widthText, 10)];
  if (!(speed > 0) || !(width > 0 && width <= 32)) return undefined;
  return { text: `${speedText} x${width}`, speed, width };
}

function hexadecimal(number: number): string {
  return `0x${number.toString(16).padStart(4, '0')}`;
}
