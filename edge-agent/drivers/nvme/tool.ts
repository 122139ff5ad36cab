// The program `nvme` of nvme-cli: what is asked of it, and what its answer means.

import type { z } from 'zod';
import { readToolVersion } from '#agent/drivers/contract/tool-version.ts';
import type { Answer, Hardware } from '#agent/hardware/port.ts';
import {
  controllerOutput,
  namespaceListOutput,
  namespaceOutput,
  type Output,
  readOutput,
  registersOutput,
  sanitizeLogOutput,
  slotsOutput,
  smartOutput,
} from './output.ts';

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

/** Reading takes milliseconds; a controller that resets takes seconds. */
const readMs = 30_000;

/** @throws if the tool fails, or prints what none of its releases does */
async function read<T>(deps: ToolDeps, output: Output<T>, verb: string, ...args: string[]) {
  const { hardware, address, tool, controller, limitMs = readMs } = deps;
  const all = [verb, `/dev/${controller}`, ...args, '-o', 'json'];
  const answer = await hardware.exec(address, tool, all, limitMs);
  const data = readOutput(output, answer);
  if (data !== undefined) return data;
  const version = output.others && (await readNvmeVersion(hardware, tool));
  const other = version === undefined ? undefined : readOutput(output, answer, version);
  if (other !== undefined) return other;
  if (answer.exitCode !== 0) throw failed(verb, answer);
  throw new Error(`nvme ${verb} printed what is not valid for it.`);
}

async function readNvmeVersion(hardware: Hardware, program: string): Promise<string | undefined> {
  const tool = { name: 'nvme-cli', program, args: ['version'] };
  return await readToolVersion(hardware, tool).catch(() => undefined);
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
  const lines = `${stderr}\n${stdout}`.trim().split('\n');
  const line = lines.find((each) => !each.startsWith('WARNING')) ?? '';
  const shown = line.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 120);
  return new Error(`nvme ${verb} failed with exit code ${exitCode}: ${shown}`);
}

export async function identify(deps: ToolDeps): Promise<Controller> {
  return toController(await read(deps, controllerOutput, 'id-ctrl'));
}

function toController(answer: z.infer<typeof controllerOutput.form>): Controller {
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

/** SSTAT bits 2:0; 4 is a completion that was asked to deallocate nothing. */
const states: readonly (SanitizeState | undefined)[] = [
  'never',
  'completed',
  'running',
  'failed',
  'completed',
];

export async function readSanitizeLog(deps: ToolDeps): Promise<SanitizeLog> {
  const log = await read(deps, sanitizeLogOutput(deps.controller), 'sanitize-log');
  const { status, global_erased: isGloballyErased } = log.sstat;
  const state = states[status];
  if (!state) throw new Error(`The sanitize log has the unknown status ${status}.`);
  return {
    state,
    percent: Math.floor((log.sprog / 0x10000) * 100),
    isGloballyErased,
    action: log.cdw10_info & 0x7,
    isUnrestricted: (log.cdw10_info & 0x8) !== 0,
  };
}

/** Bits of the SMART log: NVM Express Base Specification 1.4, 5.14.1.2. */
export async function readCriticalWarning(deps: ToolDeps): Promise<number> {
  return (await read(deps, smartOutput, 'smart-log')).critical_warning;
}

export async function readFirmwareSlots(deps: ToolDeps): Promise<FirmwareSlots> {
  const { active, revisions } = await read(deps, slotsOutput(deps.controller), 'fw-log');
  // AFI bits 2:0.
  const running = active & 0x7;
  if (running === 0) throw new Error('The firmware log does not say which slot runs.');
  return { running, revisions: new Map(revisions) };
}

/**
 * The firmware is committed, and runs only after a reset: statuses of Firmware Commit (5.11.1),
 * without the bit Do Not Retry.
 */
const resets: ReadonlyMap<number, Committed> = new Map([
  [0x10b, 'power cycle'],
  [0x110, 'power cycle'],
  [0x111, 'controller reset'],
]);

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
  // `NVMe status: Firmware Activation Requires Conventional Reset: ...(0x10b)`
  const [, status = ''] = /^NVMe status: .*\(0x([0-9a-f]{1,4})\)$/m.exec(answer.stderr) ?? [];
  const committed = resets.get(Number.parseInt(status, 16) & 0x7ff);
  if (committed === undefined) throw failed('fw-commit', answer);
  return committed;
}

/** Active namespaces, or all that are allocated. */
export async function listNamespaces(deps: ToolDeps, all = false): Promise<readonly number[]> {
  return await read(deps, namespaceListOutput, 'list-ns', ...(all ? ['--all'] : []));
}

export async function readNamespace(deps: ToolDeps, nsid: number): Promise<Namespace> {
  const id = `--namespace-id=${nsid}`;
  const { flbas, fpi, lbafs } = await read(deps, namespaceOutput, 'id-ns', id);
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
  const { vs, bpinfo } = await read(deps, registersOutput, 'show-regs');
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
