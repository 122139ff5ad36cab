// The program `nvme` of nvme-cli: what is asked of it, and what its JSON says. The output comes
// from a device that a tenant had, so each number is checked. Formats are those of nvme-cli 2.3
// to 2.16 (nvme-print.c, nvme-print-json.c).

import * as z from 'zod';
import type { Answer, Hardware } from '#agent/hardware/port.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';

export interface ToolDeps {
  readonly hardware: Hardware;
  /** The PCI address, under which a hanging operation blocks others. */
  readonly address: string;
  /** The program's absolute path. */
  readonly tool: string;
  /** `nvme0`. */
  readonly controller: string;
  /** To read from it; 30 s if absent. */
  readonly limitMs?: number;
}

export interface Controller {
  readonly serial: string;
  readonly model: string;
  readonly firmware: string;
  readonly id: number;
  /** SANICAP, OACS and FNA: NVM Express Base Specification 1.4, 5.15.2.2. */
  readonly sanitizeCapabilities: number;
  readonly commands: number;
  readonly formatAttributes: number;
  /** FRMW, in the same place. */
  readonly firmwareUpdates: number;
  /** Bytes that no namespace has; 0 without Namespace Management. */
  readonly unallocated: number;
}

/** Firmware Slot Information log, 03h: NVM Express Base Specification 1.4, 5.14.1.3. */
export interface FirmwareSlots {
  /** The slot of the firmware that runs. */
  readonly running: number;
  /** Slot → revision; empty slots are left out. */
  readonly revisions: ReadonlyMap<number, string>;
}

/** What must happen before the controller runs the firmware that it has taken. */
export type Committed = 'done' | 'controller reset' | 'power cycle';

/** Sanitize Status log, 81h: NVM Express Base Specification 1.4, 5.14.1.16.2. */
export interface SanitizeLog {
  readonly state: SanitizeState;
  /** From 0 to 100. */
  readonly percent: number;
  /** No user data has been written since the last completed sanitize operation. */
  readonly isGloballyErased: boolean;
  /** Bits 2:0 of the command that started the last operation. */
  readonly action: number;
  /** Allow Unrestricted Sanitize Exit: a failure can be left without another operation. */
  readonly isUnrestricted: boolean;
}

type SanitizeState = 'never' | 'completed' | 'running' | 'failed';

interface Namespace {
  /** Index of the LBA format in use. */
  readonly format: number;
  /** Bytes of a block in each LBA format. */
  readonly blockSizes: readonly number[];
  readonly isFormatting: boolean;
}

const count = z.int().min(0);
/** 128 bits: a number, or a text where the version does not trust JSON with it. */
const wide = z.union([z.number(), z.string().regex(/^[0-9]{1,39}$/)]).transform(Number);

const controllerForm = z.object({
  sn: z.string(),
  mn: z.string(),
  fr: z.string(),
  cntlid: count.max(0xffff),
  sanicap: count.max(0xffffffff),
  oacs: count.max(0xffff),
  fna: count.max(0xff),
  frmw: count.max(0xff),
  unvmcap: wide.default(0),
});
/**
 * `(2) Sanitize in Progress.`: the number is SSTAT bits 2:0. nvme-cli 2.7, 2.7.1 and 2.8 write it
 * under the text itself (`"Sanitize in Progress."`), the others under `status`.
 */
const sstatForm = z.record(z.string(), z.unknown()).transform((input, context) => {
  const { status } = input;
  const texts = status === undefined ? Object.values(input) : [status];
  const matching = texts.filter(
    (each): each is string => typeof each === 'string' && /^\([0-7]\)/.test(each),
  );
  const [text, ...others] = matching;
  if (text !== undefined && others.length === 0) return { ...input, status: Number(text[1]) };
  context.addIssue({ code: 'custom', message: 'has not one status' });
  return z.NEVER;
});
const logForm = z.object({
  sprog: count.max(0xffff),
  sstat: sstatForm.pipe(
    z.object({ global_erased: z.union([z.literal(0), z.literal(1)]), status: count }),
  ),
  cdw10_info: count.max(0xffffffff),
});
const listForm = z.object({
  nsid_list: z.array(z.object({ nsid: count.min(1).max(0xfffffffe) })).max(1024),
});
const namespaceForm = z.object({
  // Absent for the format that all namespaces share (FFFFFFFFh).
  flbas: count.max(0xff).default(0),
  fpi: count.max(0xff).default(0),
  lbafs: z.array(z.object({ ds: count.max(32) })).min(1),
});
/** nvme-cli 2.11 and 2.12 print a register as `[{ "bpinfo": "2", ... }]`, in hexadecimal. */
const registerForm = (name: string) => {
  const hexadecimal = z.string().regex(/^[0-9a-f]{1,8}$/);
  const fields = z.object({ [name]: hexadecimal }).transform((all) => Number(`0x${all[name]}`));
  return z.union([z.int(), z.tuple([fields]).transform(([value]) => value)]);
};
const registersForm = z.object({ vs: registerForm('Version'), bpinfo: registerForm('bpinfo') });

/** A slot's revision has its eight bytes as a number, and as a text: `3157553 (1.0.....)`. */
const slotsForm = z.object({ 'Active Firmware Slot (afi)': count.max(0xff) }).loose();
const revisionForm = z
  .string()
  .regex(/^\d{1,20} \(.{8}\)$/)
  .transform((text) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(text.split(' ')[0] ?? '')));
    return bytes.toString('latin1').replace(/\0+$/, '').trim();
  });

/** Reading takes milliseconds; a controller that resets takes seconds. */
const readMs = 30_000;

/** @throws if the tool fails, or prints anything but what the form says */
async function read<T>(deps: ToolDeps, form: z.ZodType<T>, verb: string, ...args: string[]) {
  const { limitMs = readMs } = deps;
  return parsed(form, verb, await run(deps, limitMs, verb, ...args, '-o', 'json'));
}

/** Pure. @throws a sentence if the text is not what the form says */
function parsed<T>(form: z.ZodType<T>, verb: string, text: string): T {
  const read = form.safeParse(parseJson(text));
  if (read.success) return read.data;
  throw new Error(`nvme ${verb} printed what is not valid for it.`);
}

export async function run(
  { hardware, address, tool, controller }: ToolDeps,
  limitMs: number,
  verb: string,
  ...args: string[]
): Promise<string> {
  const answer = await hardware.exec(address, tool, [verb, `/dev/${controller}`, ...args], limitMs);
  if (answer.exitCode === 0) return answer.stdout;
  throw failed(verb, answer);
}

/** Pure. */
function failed(verb: string, { exitCode, stdout, stderr }: Answer): Error {
  const [line = ''] = `${stderr}\n${stdout}`.trim().split('\n');
  const shown = line.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 120);
  return new Error(`nvme ${verb} failed with exit code ${exitCode}: ${shown}`);
}

export async function identify(deps: ToolDeps): Promise<Controller> {
  return toController(await read(deps, controllerForm, 'id-ctrl'));
}

function toController(answer: z.infer<typeof controllerForm>): Controller {
  return {
    serial: answer.sn.trim(),
    model: answer.mn.trim(),
    firmware: answer.fr.trim(),
    id: answer.cntlid,
    sanitizeCapabilities: answer.sanicap,
    commands: answer.oacs,
    formatAttributes: answer.fna,
    firmwareUpdates: answer.frmw,
    unallocated: answer.unvmcap,
  };
}

export async function readSanitizeLog(deps: ToolDeps): Promise<SanitizeLog> {
  const whole = await read(deps, z.record(z.string(), z.unknown()), 'sanitize-log');
  return parseSanitizeLog(whole[deps.controller]);
}

/** SSTAT bits 2:0; 4 is a completion that was asked to deallocate nothing. */
const states: readonly (SanitizeState | undefined)[] = [
  'never',
  'completed',
  'running',
  'failed',
  'completed',
];

/** Pure. @throws a sentence for what is not a log */
export function parseSanitizeLog(answer: unknown): SanitizeLog {
  const log = parsed(logForm, 'sanitize-log', JSON.stringify(answer) ?? '');
  const state = states[log.sstat.status];
  if (!state) throw new Error(`The sanitize log has the unknown status ${log.sstat.status}.`);
  return {
    state,
    percent: Math.floor((log.sprog / 0x10000) * 100),
    isGloballyErased: log.sstat.global_erased === 1,
    action: log.cdw10_info & 0x7,
    isUnrestricted: (log.cdw10_info & 0x8) !== 0,
  };
}

export async function readFirmwareSlots(deps: ToolDeps): Promise<FirmwareSlots> {
  const whole = await read(deps, z.record(z.string(), z.unknown()), 'fw-log');
  return parseFirmwareSlots(whole[deps.controller]);
}

/** Pure. @throws a sentence for what is not a log */
export function parseFirmwareSlots(answer: unknown): FirmwareSlots {
  const log = parsed(slotsForm, 'fw-log', JSON.stringify(answer) ?? '');
  const revisions = new Map<number, string>();
  for (let slot = 1; slot <= 7; slot += 1) {
    const shown = log[`Firmware Rev Slot ${slot}`];
    if (shown === undefined) continue;
    revisions.set(slot, parsed(revisionForm, 'fw-log', JSON.stringify(shown)));
  }
  // AFI bits 2:0.
  const running = log['Active Firmware Slot (afi)'] & 0x7;
  if (running === 0) throw new Error('The firmware log does not say which slot runs.');
  return { running, revisions };
}

/** nvme-cli ends as after an error where the controller runs the image only after a reset. */
const needsReset = /but firmware requires (conventional|subsystem|any controller) reset/;

/** @param action of Firmware Commit: NVM Express Base Specification 1.4, 5.11 */
export async function commitFirmware(
  deps: ToolDeps,
  limitMs: number,
  { slot, action }: { readonly slot: number; readonly action: 0 | 2 | 3 },
): Promise<Committed> {
  const { hardware, address, tool, controller } = deps;
  const args = ['fw-commit', `/dev/${controller}`, `--slot=${slot}`, `--action=${action}`];
  const answer = await hardware.exec(address, tool, args, limitMs);
  if (answer.exitCode === 0) return 'done';
  const [, reset] = needsReset.exec(answer.stdout) ?? [];
  if (reset === undefined) throw failed('fw-commit', answer);
  return reset === 'any controller' ? 'controller reset' : 'power cycle';
}

/** Active namespaces, or all that are allocated. */
export async function listNamespaces(deps: ToolDeps, all = false): Promise<readonly number[]> {
  const list = await read(deps, listForm, 'list-ns', ...(all ? ['--all'] : []));
  return list.nsid_list.map(({ nsid }) => nsid);
}

export async function readNamespace(deps: ToolDeps, nsid: number): Promise<Namespace> {
  const { flbas, fpi, lbafs } = await read(deps, namespaceForm, 'id-ns', `--namespace-id=${nsid}`);
  return {
    // Bits 6:5 are the upper ones (NVM Command Set Specification 1.0, Identify Namespace).
    format: (flbas & 0xf) | ((flbas & 0x60) >> 1),
    blockSizes: lbafs.map(({ ds }) => 2 ** ds),
    // Bit 7: the indicator exists; bits 6:0: percent that remain.
    isFormatting: (fpi & 0x80) !== 0 && (fpi & 0x7f) !== 0,
  };
}

/**
 * Bytes of each boot partition: BPINFO bits 14:0, in 128 KiB (NVM Express Base Specification 1.4,
 * 3.1.13). 0 if there is none.
 */
export async function bootPartitionBytes(deps: ToolDeps): Promise<number> {
  const { vs, bpinfo } = await read(deps, registersForm, 'show-regs');
  // Registers that cannot be read are all ones.
  if (vs === -1 || vs === 0 || vs === 0xffffffff || bpinfo === -1 || bpinfo === 0xffffffff) {
    throw new Error('The registers of the controller cannot be read.');
  }
  return bootPartitionSize(bpinfo);
}

/** Pure. */
export function bootPartitionSize(bpinfo: number): number {
  return (bpinfo & 0x7fff) * 128 * 1024;
}
