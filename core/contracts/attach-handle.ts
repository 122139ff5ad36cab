// Attach handles as hosts report them. Each gives a hypervisor one accelerator.

import * as z from 'zod';
import { attachTypes, type DiscoveredHandle, preparations } from '../domain/device.ts';

/** `DDDD:BB:DD.F`, lower case; the domain may have more than four digits (VMD, Hyper-V). */
export const pciAddress = z.string().regex(/^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-1][0-9a-f]\.[0-7]$/);

/** The kernel's name of a device without a PCI address, such as `fpga0`. */
const kernelName = z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/);

export const deviceAddress = z.union([pciAddress, kernelName]);

export function isKernelName(text: string): boolean {
  return kernelName.safeParse(text).success;
}

/** The name of a driver. */
export const driverName = z.string().regex(/^[a-z0-9_]{1,64}$/);

const pciInfo = z.object({
  domain: z.string().regex(/^[0-9a-f]{4,8}$/),
  bus: z.string().regex(/^[0-9a-f]{2}$/),
  device: z.string().regex(/^[0-9a-f]{1,2}$/),
  function: z.string().regex(/^[0-7]$/),
  /** The function stays on the driver that it has, because what is given exists only there. */
  managed: z.literal('no').optional(),
  /** Of a network card: Nova plugs a port of Neutron with it. */
  physical_network: z
    .string()
    .regex(/^[\x21-\x7e]{1,64}$/)
    .optional(),
});
const mdevInfo = z.object({
  domain: pciInfo.shape.domain.optional(),
  bus: pciInfo.shape.bus.optional(),
  device: pciInfo.shape.device.optional(),
  function: pciInfo.shape.function.optional(),
  asked_type: z.string('an MDEV handle must have asked_type').regex(/^[a-zA-Z0-9_-]{1,64}$/),
  /** Distinguishes the mdevs of one type. */
  vgpu_mark: z
    .string()
    .regex(/^[a-zA-Z0-9_.:-]{1,64}$/)
    .optional(),
});

/** AWS IoT ends a job that is in progress for seven days. */
export const cleanSecondsMax = 5 * 24 * 3600;

/** Not a bus address: the fake driver numbers its functions in decimals, as Cyborg's does. */
const testInfo = pciInfo
  .omit({ managed: true, physical_network: true })
  .extend({ device: z.string().regex(/^[0-9a-f]{1,4}$/) });
const infoByType = { PCI: pciInfo, TEST_PCI: testInfo, MDEV: mdevInfo };

interface Attached {
  readonly type: keyof typeof infoByType;
  readonly info: Readonly<Record<string, string>>;
}

/** `info` of an attach handle, as Nova gets it; Cyborg's `attach_handle_info`. */
export const handleInfo = z.record(z.string().max(64), z.string().max(255));

export const attachType = z.enum(attachTypes);
export type AttachType = z.infer<typeof attachType>;

/** What Nova attaches. */
export const attachedAs = { type: attachType, info: handleInfo };

/** Adds an issue for each part of `info` that the type requires otherwise. */
export function checkInfo({ type, info }: Attached, context: z.RefinementCtx): void {
  const { error } = infoByType[type].safeParse(info);
  for (const { path, message } of error?.issues ?? []) {
    context.addIssue({ code: 'custom', path: ['info', ...path], message });
  }
}

/** `info` without unknown keys; undefined if it is not as the type requires. */
export function validInfo({ type, info }: Attached): Record<string, string> | undefined {
  return infoByType[type].safeParse(info).success ? knownInfo({ type, info }) : undefined;
}

/** Gives a hypervisor one accelerator. */
export const attachHandle = z
  .object({
    ...attachedAs,
    /** Of an object that exists already, for example an mdev; otherwise the cloud gives it one. */
    uuid: z.guid().optional(),
    /** Whether a job prepares it for each bind, or the agent has made it before any bind. */
    prepare: z.enum(preparations).optional(),
    /** The longest time that the host cleans it after a holder; absent if it does not. */
    clean_seconds: z.number().int().min(1).max(cleanSecondsMax).optional(),
  })
  .superRefine(checkInfo);
export type ReportedHandle = z.infer<typeof attachHandle>;

/** `info` without the keys that its type does not have: a newer agent may send more. */
function knownInfo({ type, info }: Attached): Record<string, string> {
  const known = Object.keys(infoByType[type].shape);
  return Object.fromEntries(Object.entries(info).filter(([name]) => known.includes(name)));
}

export function discoveredHandle(reported: ReportedHandle): DiscoveredHandle {
  const { type, uuid, prepare, clean_seconds: cleanSeconds } = reported;
  return {
    type,
    info: knownInfo(reported),
    ...(uuid && { uuid: uuid.toLowerCase() }),
    ...(prepare && { prepare }),
    ...(cleanSeconds !== undefined && { cleanSeconds }),
  };
}
