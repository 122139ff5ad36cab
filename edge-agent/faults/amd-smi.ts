// Reads `amd-smi metric --ecc --temperature --json` of one card: a list up to ROCm 6, an object
// with that list since ROCm 7, with numbers or, on hosts of virtual functions, their texts.

import * as z from 'zod';
import { present } from '#core/shapes/derive/present.ts';
import type { ToolReading } from './tool-reading.ts';

const count = z.union([z.int().min(0), z.stringFormat('count', /^\d{1,15}$/).transform(Number)]);
const degrees = z.object({ value: z.number().min(-100).max(300), unit: z.literal('C') });
const card = z.object({
  temperature: z.object({ hotspot: degrees.optional().catch(undefined) }).optional(),
  ecc: z.object({ total_uncorrectable_count: count.optional().catch(undefined) }),
});
const output = z.union([
  z.tuple([card]),
  z.object({ gpu_data: z.tuple([card]) }).transform(({ gpu_data }) => gpu_data),
]);

/** Undefined for any other text, and for one of several cards. */
export function parseAmdSmi(text: string): ToolReading | undefined {
  const read = output.safeParse(fromJson(text));
  if (!read.success) return undefined;
  const [{ temperature, ecc }] = read.data;
  const uncorrectable = ecc.total_uncorrectable_count;
  return present({
    celsius: temperature?.hotspot?.value,
    uncorrectable,
    fault:
      uncorrectable === undefined || uncorrectable === 0
        ? undefined
        : ({
            severity: 'warning',
            meaning: 'has uncorrectable errors of memory since its driver was loaded, by amd-smi',
            nextStep: 'Reset the GPU when no server has it. Replace it if this returns.',
          } as const),
  });
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
