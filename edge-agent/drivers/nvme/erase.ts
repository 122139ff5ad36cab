// Erases the user data of an NVMe controller: by a Sanitize operation, which reaches the whole NVM
// subsystem, or by formatting each namespace. Section numbers are those of the NVM Express Base
// Specification 1.4.

import type { Clock } from '#agent/clock.ts';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import type { NvmeSettings } from './settings.ts';
import {
  type Controller,
  listNamespaces,
  readNamespace,
  readSanitizeLog,
  run,
  type SanitizeLog,
  type ToolDeps,
} from './tool.ts';

export interface Erasure extends ToolDeps {
  readonly clock: Clock;
  /** On the monotonic clock. */
  readonly until: number;
  readonly onProgress: (percent: number) => void;
}

type Method = 'crypto-erase' | 'block-erase' | 'overwrite';

/** Best first. `bit` of SANICAP (5.15.2.2), and SANACT of the command Sanitize (5.24). */
const methods: readonly { name: Method; bit: number; action: number }[] = [
  { name: 'crypto-erase', bit: 0x1, action: 4 },
  { name: 'block-erase', bit: 0x2, action: 2 },
  { name: 'overwrite', bit: 0x4, action: 3 },
];
const exitFailureMode = '--sanact=1';

/** The controller answers before the operation has ended (8.15). */
const startMs = 60_000;
const firstPollMs = 100;
const lastPollMs = 10_000;

/** @throws a sentence unless all user data was erased */
export async function erase(
  erasure: Erasure,
  controller: Controller,
  clean: NvmeSettings['clean'],
): Promise<Evidence> {
  const { sanitizeCapabilities: capabilities } = controller;
  if (clean === 'format') return format(erasure, controller);
  const supported = methods.filter(({ bit }) => capabilities & bit);
  const allowed = supported.filter(({ name }) => clean === 'sanitise' || clean === name);
  if (allowed.length === 0) {
    const names = sanitizeMethods(capabilities).join(', ') || 'no method';
    throw new Error(`The controller cannot do clean: ${clean}; its Sanitize supports ${names}.`);
  }
  return sanitize(erasure, allowed);
}

/** Pure. @param capabilities SANICAP */
export function sanitizeMethods(capabilities: number): readonly string[] {
  return methods.filter(({ bit }) => capabilities & bit).map(({ name }) => name);
}

/**
 * Why the settings' method cannot erase a controller, as a clause with the setting that can.
 *
 * @param can what its Identify data says: SANICAP and OACS
 */
export function eraseRefusal(
  can: Pick<Controller, 'sanitizeCapabilities' | 'commands'>,
  clean: NvmeSettings['clean'],
): string | undefined {
  const supported = sanitizeMethods(can.sanitizeCapabilities);
  const canFormat = (can.commands & 0x2) !== 0;
  if (clean === 'format' ? canFormat : supported.length > 0) {
    const isAny = clean === 'format' || clean === 'sanitise' || supported.includes(clean);
    return isAny
      ? undefined
      : `can ${supported.join(' and ')}, not ${clean}: set clean to sanitise`;
  }
  const lacks = clean === 'format' ? 'cannot format' : 'has no Sanitize';
  if (clean !== 'format' && canFormat) return `${lacks}: set clean to format`;
  if (supported.length > 0) return `${lacks}: set clean to sanitise`;
  return 'can neither sanitise nor format: set clean to reset, and data_may_stay to true';
}

async function sanitize(erasure: Erasure, allowed: typeof methods): Promise<Evidence> {
  const failed: Method[] = [];
  // An earlier run of this job, or the last holder, began it: it cannot be stopped, and user data
  // cannot be written until it ends (8.15).
  const before = await readSanitizeLog(erasure);
  const running = allowed.find(({ action }) => action === before.action);
  if (before.state === 'running') {
    const end = await follow(erasure);
    if (running && end.state === 'completed' && end.action === running.action) {
      return toEvidence(running.name, end, failed, true);
    }
    if (running && end.state === 'failed') failed.push(running.name);
  }
  for (const { name, action } of allowed) {
    if (failed.includes(name)) continue;
    // Without AUSE: after a failure the controller refuses all access until another Sanitize
    // command succeeds, which is also how it leaves a failure of the last holder (8.15).
    const passes = name === 'overwrite' ? ['--owpass=1'] : [];
    await run(erasure, startMs, 'sanitize', `--sanact=${action}`, ...passes);
    const end = await follow(erasure);
    if (end.state === 'completed') {
      if (end.action === action) return toEvidence(name, end, failed, false);
      throw new Error(`The sanitize log is of action ${end.action}, not of ${action}.`);
    }
    if (end.state === 'never') throw new Error('The sanitize log has no operation.');
    failed.push(name);
  }
  throw new Error(`The sanitize operation failed: ${failed.join(', ')}.`);
}

/** Polls until the operation has ended, however. @throws a sentence if the time is over */
async function follow(erasure: Erasure): Promise<SanitizeLog> {
  const { clock, until, onProgress } = erasure;
  for (let pollMs = firstPollMs; ; pollMs = Math.min(pollMs * 2, lastPollMs)) {
    const log = await readSanitizeLog(erasure);
    if (log.state !== 'running') return log;
    onProgress(log.percent);
    if (clock.monotonicMs() + pollMs >= until) {
      throw new Error(`The sanitize operation has not ended in time; it is at ${log.percent} %.`);
    }
    await clock.sleep(pollMs);
  }
}

function toEvidence(
  method: Method,
  { isGloballyErased, percent }: SanitizeLog,
  failed: readonly Method[],
  wasRunning: boolean,
): Evidence {
  return {
    cleaned_by: `sanitise ${method}`,
    sanitize_status: 'completed',
    // FFFFh out of 10000h where no operation runs.
    sanitize_percent: percent >= 99 ? 100 : percent,
    global_data_erased: isGloballyErased,
    ...(failed.length > 0 && { failed_methods: failed.join(', ') }),
    ...(wasRunning && { sanitize_was_running: true }),
  };
}

/** OACS bit 1: Format NVM. FNA bit 2: it can erase by the key (5.15.2.2). */
async function format(erasure: Erasure, controller: Controller): Promise<Evidence> {
  const { clock, until, onProgress } = erasure;
  if (!(controller.commands & 0x2)) throw new Error('The controller has no command Format NVM.');
  if (controller.sanitizeCapabilities & 0x7) await endSanitize(erasure);
  const namespaces = await listNamespaces(erasure);
  const hasManagement = (controller.commands & 0x8) !== 0;
  const all = hasManagement ? await listNamespaces(erasure, true) : namespaces;
  const hidden = all.find((nsid) => !namespaces.includes(nsid));
  if (hidden !== undefined) {
    throw new Error(`Namespace ${hidden} is not attached, so that Format NVM does not reach it.`);
  }
  if (namespaces.length === 0) throw new Error('The controller has no namespace to format.');
  // SES 2: cryptographic erase; 1: user data erase (5.23).
  const erases = controller.formatAttributes & 0x4 ? 2 : 1;
  for (const [index, nsid] of namespaces.entries()) {
    const { format: lba } = await readNamespace(erasure, nsid);
    const leftMs = Math.floor(until - clock.monotonicMs());
    if (leftMs <= 0) throw new Error(`Namespace ${nsid} was not formatted in time.`);
    const options = [`--namespace-id=${nsid}`, `--lbaf=${lba}`, `--ses=${erases}`];
    await run(erasure, leftMs + graceMs, 'format', ...options, '--force', `--timeout=${leftMs}`);
    if ((await readNamespace(erasure, nsid)).isFormatting) {
      throw new Error(`Namespace ${nsid} is still being formatted.`);
    }
    onProgress(Math.floor(((index + 1) / namespaces.length) * 100));
  }
  return {
    cleaned_by: `format ${erases === 2 ? 'crypto-erase' : 'user-data-erase'}`,
    format_status: 'completed',
    formatted_namespaces: namespaces.length,
  };
}

/** The kernel ends the command at its timeout; the tool then says so. */
const graceMs = 5_000;

/** Format NVM is refused while a Sanitize operation runs, and after one that has failed (8.15). */
async function endSanitize(erasure: Erasure): Promise<void> {
  const log = await follow(erasure);
  if (log.state !== 'failed') return;
  if (!log.isUnrestricted) {
    throw new Error(
      'A sanitize operation failed, and only another one ends this: clean: sanitise.',
    );
  }
  // Access is possible again and nothing is erased: Format erases all of it.
  await run(erasure, startMs, 'sanitize', exitFailureMode);
}
