// Settings of driver `nvidia_gpu`: which cards are offered, each as a whole or as one type of
// vGPU, as in Nova's `[devices]enabled_mdev_types` with `device_addresses` per type.

import * as z from 'zod';
import {
  absolutePath,
  areDistinct,
  cardTwice,
  customTraits,
  oneOrMany,
  pciAddress,
  vfioDriver,
} from '#agent/drivers/contract/setting-forms.ts';
import { resets } from '#agent/drivers/pci/allow-list.ts';

export const nvidiaName = 'nvidia_gpu';

const cards = z
  .strictObject({
    addresses: oneOrMany(pciAddress, 64),
    /** Absent: each card is offered as a whole. */
    vgpu_type: z
      .string()
      .regex(/^nvidia-[1-9][0-9]{0,5}$/, 'must be a type, such as "nvidia-558"')
      .optional(),
    resource_class: z
      .string()
      .regex(/^(PGPU|VGPU|CUSTOM_[A-Z0-9_]{1,248})$/, 'must be PGPU, VGPU or CUSTOM_...')
      .optional(),
    traits: customTraits,
    /** vGPUs that MIG backs: a profile for each GPU instance, by the ids of `-lgip`. */
    gpu_instances: z
      .array(z.int('must be the id of a profile').min(0).max(255), 'must list ids of profiles')
      .min(1, 'must list ids of profiles')
      .max(16)
      .optional(),
    /** Whole cards only: the driver that the GPU, its audio and its USB functions are bound to. */
    bind_to: vfioDriver.optional(),
    /** Whole cards only, after each guest; VFIO itself resets the card at both ends. */
    reset: z.boolean('must be true or false').optional(),
    /** Whole cards only: the ways to reset it, as in the allow-list of driver `pci`. */
    resets: resets.optional(),
    /** The operator says that the Fabric Manager lets guests use these GPUs. */
    fabric_ready: z.boolean('must be true or false').optional(),
  })
  .superRefine(
    (
      {
        vgpu_type: type,
        reset,
        resets: rungs,
        bind_to: driver,
        resource_class: resourceClass,
        gpu_instances: instances,
      },
      context,
    ) => {
      const fault = (path: string, message: string) =>
        context.addIssue({ code: 'custom', path: [path], message });
      if (type && reset !== undefined) fault('reset', 'is for whole cards; see clean for vGPUs');
      if (type && rungs) fault('resets', 'is for whole cards; see clean for vGPUs');
      if (type && driver) fault('bind_to', 'is for whole cards: vGPUs stay on the driver nvidia');
      if (type && resourceClass === 'PGPU')
        fault('resource_class', 'must be VGPU or CUSTOM_... for vGPUs');
      if (!type && instances) fault('gpu_instances', 'is for vGPUs, with a vgpu_type');
      if (!type && resourceClass === 'VGPU') {
        fault('resource_class', 'must be PGPU or CUSTOM_... without vgpu_type');
      }
    },
  );

export const nvidiaSettings = z
  .strictObject({
    cards: z.array(cards, 'must list the cards that are offered').min(1).max(64),
    /** `ahead`: all vGPUs exist before any bind. `at-bind`: a job makes each; for mdevs alone. */
    made: z.enum(['ahead', 'at-bind'], 'must be ahead or at-bind').default('ahead'),
    /**
     * vGPUs only, after each holder. `none`: only where the vendor's driver erases the memory when
     * a guest closes its vGPU.
     */
    clean: z.enum(['recreate', 'none'], 'must be recreate or none').default('recreate'),
    /**
     * Nova on this host attaches PCI devices with `managed='no'`. Without it no virtual function
     * with a type is offered: libvirt would take it from the driver nvidia.
     */
    attach_unmanaged: z.boolean('must be true or false').default(false),
    /** NVIDIA's script that makes the virtual functions of a card: `-e` and its address. */
    sriov_manage: absolutePath.default('/usr/lib/nvidia/sriov-manage'),
    /** Makes the GPU instances. */
    nvidia_smi: absolutePath.default('/usr/bin/nvidia-smi'),
  })
  .refine((settings) => areDistinct(settings), cardTwice);

export type NvidiaSettings = z.infer<typeof nvidiaSettings>;
type NvidiaCards = NvidiaSettings['cards'][number];
/** Cards that are offered as vGPUs. */
export type VgpuCards = NvidiaCards & { readonly vgpu_type: string };

export function isVgpu(cards: NvidiaCards): cards is VgpuCards {
  return cards.vgpu_type !== undefined;
}
