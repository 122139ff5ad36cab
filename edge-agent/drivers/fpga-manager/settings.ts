// Settings of driver `fpga_manager`: which boards are offered, what their images are for, and
// which PCI function of the FPGA a guest gets.

import * as z from 'zod';
import {
  absolutePath,
  customTraits,
  pciAddress,
  vfioDriver,
} from '#agent/drivers/contract/setting-forms.ts';
import { type AllowListEntry, pciAllowList } from '#agent/drivers/pci/allow-list.ts';
import { isKernelName } from '#core/contracts/attach-handle.ts';

export const fpgaManagerName = 'fpga_manager';

const board = z.strictObject({
  /** The kernel's name in /sys/class/fpga_manager. */
  manager: z
    .string('must be a name in /sys/class/fpga_manager, such as "fpga0"')
    .refine(isKernelName, 'must be a name in /sys/class/fpga_manager, such as "fpga0"'),
  /**
   * What images must be made for. The hardware has no such id, so the operator gives boards of
   * one kind and one design one uuid.
   */
  interface: z
    .guid('must be a uuid, which images of the board name as their interface-uuid')
    .transform((uuid) => uuid.toLowerCase()),
  /** `partial`: images replace a part of the design that runs. */
  images: z.enum(['full', 'partial'], 'must be full or partial').default('full'),
  /** The PCI function that the FPGA is for guests; without one it is programmed only. */
  attach: pciAddress.optional(),
  bind_to: vfioDriver.default('vfio-pci'),
  /** `blank`: write `blank_image` after each holder. */
  clean: z.enum(['blank', 'none'], 'must be one of blank, none').default('blank'),
  /** A GBS file with the board's interface, whose design does nothing. */
  blank_image: absolutePath.optional(),
  /** The operator's word that the next holder may read what the last one has left. */
  data_may_stay: z.boolean('must be true or false').default(false),
  traits: customTraits,
});

export const fpgaManagerSettings = z
  .strictObject({
    boards: z
      .array(board, 'must list the boards that are offered')
      .min(1, 'must list the boards that are offered')
      .max(32),
    /** Where the kernel looks for firmware; images lie there while they are written. */
    firmware_directory: absolutePath.default('/lib/firmware'),
  })
  .superRefine(({ boards }, context) => {
    const fault = (at: (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path: ['boards', ...at], message });
    const [managers, functions] = [new Set<string>(), new Set<string>()];
    for (const [index, each] of boards.entries()) {
      const { manager, attach, clean, blank_image: blank, data_may_stay: mayStay } = each;
      if (managers.has(manager)) fault([index, 'manager'], `duplicate board: ${manager}`);
      if (attach && functions.has(attach))
        fault([index, 'attach'], `duplicate function: ${attach}`);
      if (attach && clean === 'blank' && !blank) {
        fault([index, 'blank_image'], 'must name an image, or clean must be none');
      }
      if (attach && clean === 'none' && !mayStay) {
        fault([index, 'clean'], 'leaves the image and its memory: allow this by data_may_stay');
      }
      managers.add(manager);
      if (attach) functions.add(attach);
    }
  });

export type FpgaManagerSettings = z.infer<typeof fpgaManagerSettings>;
export type FpgaBoard = FpgaManagerSettings['boards'][number];

/** The functions for guests, in the form of driver `pci`, which finds, guards and binds them. */
export function toAllowList({ boards }: FpgaManagerSettings): readonly AllowListEntry[] {
  return pciAllowList.parse(
    boards.flatMap(({ attach, bind_to }) =>
      attach ? [{ address: attach, bind_to, device_type: 'FPGA', resource_class: 'FPGA' }] : [],
    ),
  );
}
