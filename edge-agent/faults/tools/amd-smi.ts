// Reads `amd-smi metric --ecc --temperature --json` of one card: a list up to ROCm 6, an object
// with that list since ROCm 7, with numbers or, on hosts of virtual functions, their texts.

import * as z from 'zod';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { present } from '#core/shapes/derive/present.ts';
import { findToolFault, rulesOut, type ToolReading, type ToolRow } from './tool-reading.ts';

const count = z.union([z.int().min(0), z.stringFormat('count', /^\d{1,15}$/).transform(Number)]);
const degrees = z.object({ value: z.number().min(-100).max(300), unit: z.literal('C') });
/** A group that a card or a release lacks is `"N/A"`, and does not hide the other group. */
const card = z
  .record(z.string(), z.unknown())
  .refine((groups) => 'temperature' in groups || 'ecc' in groups)
  .pipe(
    z.object({
      temperature: z.object({ hotspot: degrees.optional().catch(undefined) }).catch({}),
      ecc: z.object({ total_uncorrectable_count: count.optional().catch(undefined) }).catch({}),
    }),
  );
const output = z.union([
  z.tuple([card]),
  z.object({ gpu_data: z.tuple([card]) }).transform(({ gpu_data }) => gpu_data),
]);
type Card = z.infer<typeof card>;

const rows: readonly ToolRow<Card>[] = [
  {
    holds: ({ ecc: { total_uncorrectable_count: errors } }) =>
      errors === undefined ? undefined : errors > 0,
    severity: 'warning',
    meaning: 'has uncorrectable errors of memory since its driver was loaded, by amd-smi',
    nextStep: 'Reset the GPU when no server has it. Replace it if this returns.',
  },
];

/** Undefined for any other text, and for one of several cards. */
export function parseAmdSmi(text: string): ToolReading | undefined {
  const read = readCard(text);
  return (
    read &&
    present({
      celsius: read.temperature.hotspot?.value,
      uncorrectable: read.ecc.total_uncorrectable_count,
      fault: findToolFault(rows, read),
    })
  );
}

/** Whether the text says that the card does not have the fault. */
export function amdSmiRulesOut(text: string, meaning: string): boolean {
  const read = readCard(text);
  return read !== undefined && rulesOut(rows, read, meaning);
}

/** Without the lines that the program prints before the JSON, such as one on missing groups. */
function readCard(text: string): Card | undefined {
  const begins = text.search(/^[[{]/m);
  return output.safeParse(parseJson(text.slice(Math.max(begins, 0)))).data?.[0];
}
