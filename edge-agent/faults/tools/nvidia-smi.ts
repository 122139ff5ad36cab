// Reads `nvidia-smi -q -x` of one card. The meaning of the fields and of the exit codes is from
// NVIDIA's pages on memory errors of GPUs and the manual of nvidia-smi; a field that a release
// lacks says nothing.

import { tokenize, XmlInvalid } from '#agent/guards/libvirt/xml.ts';
import type { Answer } from '#agent/hardware/port.ts';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import { present } from '#core/shapes/derive/present.ts';
import {
  findToolFault,
  rulesOut,
  type ToolFault,
  type ToolReading,
  type ToolRow,
} from './tool-reading.ts';

/** Texts by the path of their element below that of the card. */
type Fields = ReadonlyMap<string, string>;
type FieldsRow = ToolRow<Fields>;

const documentType = /^\s*(?:<\?xml[^>]*\?>\s*)?<!DOCTYPE nvidia_smi_log SYSTEM "[\w.]{1,64}">/;

/** Any other value, such as N/A and ERR!, says neither. */
const isOneOf =
  (path: string, yes: RegExp, no: RegExp): FieldsRow['holds'] =>
  (fields) => {
    const text = fields.get(path) ?? '';
    if (yes.test(text)) return true;
    return no.test(text) ? false : undefined;
  };
const isYes = (path: string) => isOneOf(path, /^Yes$/, /^No$/);
const recovers = (action: RegExp) =>
  isOneOf('gpu_recovery_action', action, /^(None|Reset|Reboot|Drain P2P|Drain and Reset)$/);
const anyOf =
  (...each: readonly FieldsRow['holds'][]): FieldsRow['holds'] =>
  (fields) => {
    const all = each.map((holds) => holds(fields));
    if (all.includes(true)) return true;
    return all.includes(false) ? false : undefined;
  };
/** A text in place of a value. No field that is read here holds a name that a user chose. */
const instead = (text: RegExp): FieldsRow['holds'] => {
  const paths = ['temperature/gpu_temp', 'fan_speed', 'performance_state'];
  return anyOf(...paths.map((path) => isOneOf(path, text, /^(\d{1,3} [C%]|P\d{1,2}|N\/A)$/)));
};
const replace = 'Evacuate the servers of this GPU, run the field diagnostics, and replace it.';
const reset = 'Evacuate the servers of this GPU, and reset it or reboot the host.';
const restart = 'Evacuate the host, and power it off and on. Replace the GPU if this returns.';
const whenFree = 'Reset the GPU when no server has it.';

const rows: readonly FieldsRow[] = [
  fatal(isYes('remapped_rows/remapped_row_failure'), 'a row remapping that failed', replace),
  fatal(isYes('ecc_errors/unrepairable_memory'), 'memory that cannot be repaired', replace),
  fatal(recovers(/^(Reset|Reboot|Drain and Reset)$/), 'a request for a reset or a reboot', reset),
  fatal(isYes('gpu_reset_status/reset_required'), 'a request for a reset', reset),
  fatal(instead(/^\[?GPU requires reset\]?$/i), 'no state before a reset', reset),
  fatal(instead(/^\[?GPU is lost\]?$/i), 'been lost to its driver', restart),
  warning(isYes('remapped_rows/remapped_row_pending'), 'a pending row remapping', whenFree),
  warning(
    // R410 to R440 name it a blacklist.
    anyOf(isYes('retired_pages/pending_retirement'), isYes('retired_pages/pending_blacklist')),
    'a pending retirement of pages',
    whenFree,
  ),
  warning(isYes('ecc_errors/channel_repair_pending'), 'a pending repair of a channel', whenFree),
  warning(isYes('ecc_errors/tpc_repair_pending'), 'a pending repair of a TPC', whenFree),
  warning(recovers(/^Drain P2P$/), 'a request to stop traffic between GPUs', whenFree),
  warning(
    isYes('gpu_reset_status/drain_and_reset_recommended'),
    'a recommendation of a reset',
    whenFree,
  ),
  warning(
    isYes('ecc_errors/aggregate/sram_threshold_exceeded'),
    'more uncorrectable errors of SRAM than its limit',
    replace,
  ),
  warning(
    (fields) => {
      const count = uncorrectableOf(fields);
      return count === undefined ? undefined : count > 0;
    },
    'uncorrectable ECC errors since its driver was loaded',
    whenFree,
  ),
  warning(
    anyOf(
      ...['throttle', 'event'].map((name) =>
        isOneOf(
          `clocks_${name}_reasons/clocks_${name}_reason_hw_thermal_slowdown`,
          /^Active$/,
          /^Not Active$/,
        ),
      ),
    ),
    'a slowdown by heat',
    "Check the fans and the air of the host, and the card's heat sink.",
  ),
];

/** Undefined for any other text, and for one of another card. */
export function parseNvidiaSmi(text: string, address: string): ToolReading | undefined {
  const fields = readFields(text, address);
  if (!fields) return undefined;
  const celsius = /^(\d{1,3}) C$/.exec(fields.get('temperature/gpu_temp') ?? '')?.[1];
  return present({
    celsius: celsius === undefined ? undefined : Number(celsius),
    uncorrectable: uncorrectableOf(fields),
    fault: findToolFault(rows, fields),
  });
}

/** Whether the text says that the card does not have the fault. */
export function nvidiaSmiRulesOut(text: string, address: string, meaning: string): boolean {
  const fields = readFields(text, address);
  return fields !== undefined && rulesOut(rows, fields, meaning);
}

/** Exit codes that are a fault of a card, if the message names it. */
const exitFaults: ReadonlyMap<number, ToolFault> = new Map([
  [8, toFault('fatal', 'external power cables that are not attached', restart)],
  [10, toFault('warning', 'an interrupt that the kernel found in error', whenFree)],
  [15, toFault('fatal', 'fallen off the bus or become inaccessible', restart)],
  [16, toFault('fatal', 'to be reset before it can be used', reset)],
]);
const corrupted = toFault('warning', 'a corrupted infoROM', replace);
const exitCorrupted = 14;

/** Exit codes that say nothing of a card. */
const exitReasons: ReadonlyMap<number, string> = new Map([
  [2, 'invalid argument'],
  [3, 'not available on this card'],
  [4, 'no permission'],
  [6, 'card not found'],
  [9, "NVIDIA's driver is not loaded"],
  [12, 'its library is not installed'],
  [13, 'its library lacks a function'],
  [18, 'its library and the driver are of different releases'],
  [255, 'unknown error'],
]);

/** @throws Error with the reason if the answer says nothing of the card */
export function readNvidiaSmi(answer: Answer, address: string): ToolReading {
  const { exitCode, stdout, stderr } = answer;
  const isRead = exitCode === 0 || exitCode === exitCorrupted;
  const reading = isRead ? parseNvidiaSmi(stdout, address) : undefined;
  if (reading) {
    const fault = exitCode === exitCorrupted ? (reading.fault ?? corrupted) : reading.fault;
    return { ...reading, ...present({ fault }) };
  }
  const fault = exitFaults.get(exitCode);
  if (fault && namesOnly(`${stdout}\n${stderr}`, address)) return { fault };
  if (exitCode === 0) throw new Error('nvidia-smi printed what is not valid for it');
  const reason = exitReasons.get(exitCode);
  throw new Error(`nvidia-smi ended with ${exitCode}${reason ? ` (${reason})` : ''}`);
}

/** `Unable to determine the device handle for GPU0000:0B:00.0: GPU is lost.` */
function namesOnly(text: string, address: string): boolean {
  const message = text.split('\n').filter((line) => !line.includes('<'));
  const named =
    message.join('\n').match(/(?<![0-9a-f:.])[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]/gi) ??
    [];
  return named.length > 0 && named.every((each) => addressOf(each) === address);
}

/** @returns undefined where ECC is off */
function uncorrectableOf(fields: Fields): number | undefined {
  const volatile = [...fields].flatMap(([path, text]) => {
    const [, name] = /^ecc_errors\/volatile\/([\w/]+)$/.exec(path) ?? [];
    return name !== undefined && /^\d{1,15}$/.test(text) ? [[name, Number(text)] as const] : [];
  });
  // Volta and older GPUs count double-bit errors, in each memory and in total.
  const total = volatile.filter(([name]) => name === 'double_bit/total');
  const parts = volatile.filter(([name]) => /^(\w*uncorrectable\w*|double_bit\/\w+)$/.test(name));
  const counts = total.length > 0 ? total : parts;
  return counts.length > 0 ? counts.reduce((sum, [, count]) => sum + count, 0) : undefined;
}

/** Its fields are at most seven levels deep: deeper text would cost its path and say nothing. */
const levelsMax = 16;

function readFields(text: string, address: string): Fields | undefined {
  const fields = new Map<string, string>();
  const path: string[] = [];
  let cards = 0;
  try {
    for (const token of tokenize(repaired(text))) {
      if (token.kind === 'close') path.pop();
      else if (token.kind === 'open') {
        path.push(token.name);
        if (path.length !== 2 || path.join('/') !== 'nvidia_smi_log/gpu') continue;
        cards += 1;
        if (addressOf(token.attributes.get('id')) !== address) return undefined;
      } else if (path.length <= levelsMax && path[1] === 'gpu' && token.text.trim() !== '') {
        fields.set(path.slice(2).join('/'), token.text.trim());
      }
    }
  } catch (error) {
    if (error instanceof XmlInvalid) return undefined;
    throw error;
  }
  return cards === 1 ? fields : undefined;
}

/**
 * Without the lines that the program prints around the XML, and without processes, whose names it
 * does not escape: a name must not end the element.
 */
function repaired(text: string): string {
  const begin = text.search(/^(<\?xml|<!DOCTYPE nvidia_smi_log)/m);
  const end = text.lastIndexOf('</nvidia_smi_log>');
  const xml = text
    .slice(Math.max(begin, 0), end < 0 ? undefined : end + '</nvidia_smi_log>'.length)
    .replace(documentType, '');
  const processes = xml.indexOf('<processes>');
  const after = xml.lastIndexOf('</processes>');
  const without =
    processes < 0 || after < processes
      ? xml
      : xml.slice(0, processes) + xml.slice(after + '</processes>'.length);
  return without.replaceAll(/&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});)/gi, '&amp;');
}

function addressOf(id = ''): string | undefined {
  const parsed = parsePciAddress(id);
  return parsed && printPciAddress(parsed);
}

function fatal(holds: FieldsRow['holds'], what: string, nextStep: string): FieldsRow {
  return { holds, ...toFault('fatal', what, nextStep) };
}

function warning(holds: FieldsRow['holds'], what: string, nextStep: string): FieldsRow {
  return { holds, ...toFault('warning', what, nextStep) };
}

function toFault(severity: ToolFault['severity'], what: string, nextStep: string): ToolFault {
  return { severity, meaning: `has ${what}, by nvidia-smi`, nextStep };
}
