// Attach handles as hosts report them. Each gives a hypervisor one accelerator.

import * as z from 'zod';
import type { DiscoveredHandle } from '#core/domain/device/device.ts';
import { type attachedAs, offeredHandle } from '#core/shapes/attach-handle.ts';
import { fromWire } from '#core/shapes/derive/case.ts';
import { kernelName } from '#core/shapes/derive/fields.ts';
import { present } from '#core/shapes/derive/present.ts';

export function isKernelName(text: string): boolean {
  return kernelName.safeParse(text).success;
}

const pciInfo = z.object({
  domain: z.string().regex(/^[0-9a-f]{4,8}$/),
  bus: z.string().regex(/^[0-9a-f]{2}$/),
  device: z.string().regex(/^[0-9a-f]{1,2}$/),
  function: z.string().regex(/^[0-7]$/),
  /** The function stays on the driver that it has, because what is given exists only there. */
  managed: z.literal('no').optional(),
  /** The network of a network card: Nova plugs a port of Neutron with it. */
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

/** Not a bus address: the fake driver numbers its functions in decimals, as Cyborg's does. */
const testInfo = pciInfo
  .omit({ managed: true, physical_network: true })
  .extend({ device: z.string().regex(/^[0-9a-f]{1,4}$/) });
const infoByType = { PCI: pciInfo, TEST_PCI: testInfo, MDEV: mdevInfo };

type Attached = z.infer<typeof attachedAs>;

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
    ...offeredHandle.shape,
    /**
     * The uuid of an mdev that exists, as mdev-uuids.ts derives it; otherwise the cloud gives it
     * one.
     */
    uuid: z.guid().optional(),
  })
  .superRefine(checkInfo)
  .refine(({ type, uuid }) => type === 'MDEV' || uuid === undefined, {
    path: ['uuid'],
    message: 'only a handle of type MDEV may have one',
  });
export type ReportedHandle = z.infer<typeof attachHandle>;

/** `info` without the keys that its type does not have: a newer agent may send more. */
function knownInfo({ type, info }: Attached): Record<string, string> {
  const names = Object.keys(infoByType[type].shape);
  return Object.fromEntries(Object.entries(info).filter(([name]) => names.includes(name)));
}

export function discoveredHandle(reported: ReportedHandle): DiscoveredHandle {
  const { uuid, ...handle } = fromWire(attachHandle, reported);
  return { ...handle, info: knownInfo(reported), ...present({ uuid: uuid?.toLowerCase() }) };
}
