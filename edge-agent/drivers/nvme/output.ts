// What nvme-cli prints, as test/tools/nvme-cli/ has it of its releases. The output comes from a
// device that a tenant had, so each number is checked.

import * as z from 'zod';
import { compareReleases, type ToolReleases } from '#agent/drivers/contract/tool-version.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';

export const nvmeReleases: ToolReleases = { first: '2.3', last: '2.16' };

/** What a verb prints. */
export interface Output<T> {
  readonly form: z.ZodType<T>;
  /** Releases that differ; any other one, newer ones too, must keep to the form. */
  readonly others?: readonly OtherOutput<T>[];
}

interface OtherOutput<T> {
  readonly first: string;
  readonly last: string;
  readonly form: z.ZodType<T>;
  /** The exit code after success. */
  readonly exitCode?: number;
}

/** Pure. Undefined where no release prints this. */
export function readOutput<T>(
  output: Output<T>,
  { stdout, exitCode }: { readonly stdout: string; readonly exitCode: number },
  version?: string,
): T | undefined {
  const others = (output.others ?? []).filter(
    ({ first, last }) =>
      version !== undefined &&
      compareReleases(first, version) <= 0 &&
      compareReleases(version, last) <= 0,
  );
  for (const each of [{ form: output.form, exitCode: 0 }, ...others]) {
    if ((each.exitCode ?? 0) !== exitCode) continue;
    const { data } = each.form.safeParse(parseJson(stdout));
    if (data !== undefined) return data;
  }
  return undefined;
}

const count = z.int().min(0);
/** 128 bits: a number, or a text where the release does not trust JSON with it. */
const wide = z.union([z.number(), z.string().regex(/^[0-9]{1,39}$/)]).transform(Number);

export const controllerOutput = {
  form: z.object({
    sn: z.string(),
    mn: z.string(),
    fr: z.string(),
    cntlid: count.max(0xffff),
    sanicap: count.max(0xffffffff),
    oacs: count.max(0xffff),
    fna: count.max(0xff),
    frmw: count.max(0xff),
    unvmcap: wide.default(0),
  }),
};

/** 2.3 prints some numbers as texts; 2.11 and 2.12 print an object, with each bit beside it. */
const warningBits = z.union([
  count.max(0xff),
  z
    .string()
    .regex(/^(\d{1,3}|0x[0-9a-f]{1,2})$/i)
    .transform(Number)
    .pipe(count.max(0xff)),
  z.object({ value: count.max(0xff) }).transform(({ value }) => value),
]);
export const smartOutput = { form: z.object({ critical_warning: warningBits }) };

/** `(2) Sanitize in Progress.`: the number is SSTAT bits 2:0. */
const status = z
  .string()
  .regex(/^\([0-7]\)/)
  .transform((text) => Number(text[1]));
const isErased = z.union([z.literal(0), z.literal(1)]).transform((bit) => bit === 1);
const sstat = z.object({ global_erased: isErased, status });
/** `"Sanitize in Progress.": "(2) Sanitize in Progress."` */
const sstatUnderText = z
  .record(z.string(), z.unknown())
  .transform((input) => {
    const matching = Object.values(input).filter((each) => status.safeParse(each).success);
    return { ...input, status: matching.length === 1 ? matching[0] : undefined };
  })
  .pipe(sstat);
const sanitizeLog = <T>(sstatForm: z.ZodType<T>) =>
  z.object({ sprog: count.max(0xffff), sstat: sstatForm, cdw10_info: count.max(0xffffffff) });

export const sanitizeLogOutput = (controller: string) => ({
  form: z.object({ [controller]: sanitizeLog(sstat) }).transform((all) => all[controller]),
  others: [
    {
      first: '2.7',
      last: '2.8',
      form: z
        .object({ [controller]: sanitizeLog(sstatUnderText) })
        .transform((all) => all[controller]),
    },
  ],
});

const namespaceList = (key: 'nsid' | 'NSID') => {
  const id = count.min(1).max(0xfffffffe);
  const one = z.object({ [key]: id }).transform((each) => id.parse(each[key]));
  return z.object({ nsid_list: z.array(one).max(1024) }).transform((all) => all.nsid_list);
};

export const namespaceListOutput = {
  form: namespaceList('nsid'),
  others: [{ first: '2.7', last: '2.7', form: namespaceList('NSID') }],
};

export const namespaceOutput = {
  form: z.object({
    // Absent for the format that all namespaces share (FFFFFFFFh).
    flbas: count.max(0xff).default(0),
    fpi: count.max(0xff).default(0),
    lbafs: z.array(z.object({ ds: count.max(32) })).min(1),
  }),
};

const registers = z.object({ vs: z.int(), bpinfo: z.int() });
/** `[{ "bpinfo": "2", "Boot Partition Size (BPSZ)": 2 }]`, in hexadecimal. */
const described = <Key extends string>(key: Key) =>
  z
    .tuple([z.object({ [key]: z.string().regex(/^[0-9a-f]{1,8}$/) })])
    .transform(([all]) => Number(`0x${all[key]}`));

export const registersOutput = {
  form: registers,
  others: [
    { first: '2.3', last: '2.6', form: registers, exitCode: 1 },
    {
      first: '2.11',
      last: '2.12',
      form: z.object({ vs: described('Version'), bpinfo: described('bpinfo') }),
    },
  ],
};

/** Its eight bytes as a number, and as a text: `3157553 (1.0.....)`. */
const revision = z
  .string()
  .regex(/^\d{1,20} \(.{8}\)$/)
  .transform((text) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(text.split(' ')[0] ?? '')));
    return bytes.toString('latin1').replace(/\0+$/, '').trim();
  });
const slots = z
  .object({
    'Active Firmware Slot (afi)': count.max(0xff),
    'Firmware Rev Slot 1': revision.optional(),
    'Firmware Rev Slot 2': revision.optional(),
    'Firmware Rev Slot 3': revision.optional(),
    'Firmware Rev Slot 4': revision.optional(),
    'Firmware Rev Slot 5': revision.optional(),
    'Firmware Rev Slot 6': revision.optional(),
    'Firmware Rev Slot 7': revision.optional(),
  })
  .transform(({ 'Active Firmware Slot (afi)': active, ...revisions }) => ({
    active,
    revisions: Object.entries(revisions).flatMap(([name, text]) =>
      text === undefined ? [] : [[Number(name.at(-1)), text] as const],
    ),
  }));

export const slotsOutput = (controller: string) => ({
  form: z.object({ [controller]: slots }).transform((all) => all[controller]),
});
