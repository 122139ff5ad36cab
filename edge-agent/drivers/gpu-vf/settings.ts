// Settings of driver `gpu_vf`: which GPUs are divided into virtual functions, into how many, and
// the share of the card that each of them has.

import * as z from 'zod';
import {
  areDistinct,
  cardTwice,
  customTraits,
  oneOrMany,
  pciAddress,
  vfioDriver,
} from '#agent/drivers/contract/setting-forms.ts';

export const gpuVfName = 'gpu_vf';

const number = (min: number, max: number) => {
  const message = `must be an integer from ${min} to ${max}`;
  return z.int(message).min(min, message).max(max, message).optional();
};
const u32Max = 2 ** 32 - 1;

/** Shares of one virtual function; the kernel's driver shares what is absent fairly. */
const profile = z.strictObject({
  vram_mib: number(1, 2 ** 24),
  /** Address space of the GPU that all functions share (Global Graphics Translation Table). */
  ggtt_mib: number(1, 2 ** 24),
  contexts: number(1, 65535),
  doorbells: number(1, 65535),
  exec_quantum_ms: number(1, u32Max),
  preempt_timeout_us: number(1, u32Max),
  sched_priority: z.enum(['low', 'normal'], 'must be low or normal').optional(),
  /** AMD's partitions, of the card and of all cards that are linked with it. */
  memory_partition: z
    .enum(['NPS1', 'NPS2', 'NPS4', 'NPS8'], 'must be NPS1, NPS2, NPS4 or NPS8')
    .optional(),
  accelerator_partition: z
    .enum(['SPX', 'DPX', 'QPX', 'CPX'], 'must be SPX, DPX, QPX or CPX')
    .optional(),
});
export type Profile = z.infer<typeof profile>;

const countIs = 'must be a number from 1 to 255';

const cards = z
  .strictObject({
    addresses: oneOrMany(pciAddress, 64),
    /** On each card. */
    virtual_functions: z.int(countIs).min(1, countIs).max(255, countIs),
    profile: profile.default({}),
    /** The profile's name in traits; by default `<number of functions>VF`. */
    name: z
      .string()
      .regex(
        /^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$/,
        'must be 1 to 32 letters, digits, "_", "." or "-"',
      )
      .optional(),
    resource_class: z
      .string()
      .regex(/^(VGPU|PGPU|CUSTOM_[A-Z0-9_]{1,248})$/, 'must be VGPU, PGPU or CUSTOM_...')
      .default('VGPU'),
    traits: customTraits,
    bind_to: vfioDriver.default('vfio-pci'),
    clean: z.enum(['reset', 'none'], 'must be reset or none').default('reset'),
  })
  .superRefine(({ profile: chosen }, context) => {
    const { memory_partition: memory, accelerator_partition: accelerator, ...shares } = chosen;
    if ((memory ?? accelerator) === undefined) return;
    for (const key of Object.keys(shares)) {
      const message = 'is a share of Intel GPUs, and memory_partition is for AMD GPUs';
      context.addIssue({ code: 'custom', path: ['profile', key], message });
    }
  });

export const gpuVfSettings = z
  .strictObject({
    cards: z.array(cards, 'must list the cards that are divided').min(1).max(64),
  })
  .refine((settings) => areDistinct(settings), cardTwice);

export type GpuVfSettings = z.infer<typeof gpuVfSettings>;
export type GpuVfCards = GpuVfSettings['cards'][number];

export function profileName({ name, virtual_functions: count }: GpuVfCards): string {
  return name ?? `${count}VF`;
}
