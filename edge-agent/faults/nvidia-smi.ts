// Reads `nvidia-smi -q -x` of one card. The meaning of the fields is from NVIDIA's pages on memory
// errors of GPUs and the manual of nvidia-smi; a field that a release lacks says nothing.

import { tokenize, XmlInvalid } from '#agent/guards/libvirt/xml.ts';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { ToolFault, ToolReading } from './tool-reading.ts';

/** Texts by the path of their element below that of the card. */
type Fields = ReadonlyMap<string, string>;

interface ToolRow extends ToolFault {
  readonly holds: (fields: Fields) => boolean;
}

const documentType = /^\s*(?:<\?xml[^>]*\?>\s*)?<!DOCTYPE nvidia_smi_log SYSTEM "[\w.]{1,64}">/;

const isYes = (path: string) => (fields: Fields) => fields.get(path) === 'Yes';
const recovers = (action: RegExp) => (fields: Fields) =>
  action.test(fields.get('gpu_recovery_action') ?? '');
const replace = 'Evacuate the servers of this GPU, run the field diagnostics, and replace it.';
const reset = 'Evacuate the servers of this GPU, and reset it or reboot the host.';
const whenFree = 'Reset the GPU when no server has it.';

/** Fatal ones first: the first row that holds is shown. */
const rows: readonly ToolRow[] = [
  fatal(isYes('remapped_rows/remapped_row_failure'), 'a row remapping that failed', replace),
  fatal(isYes('ecc_errors/unrepairable_memory'), 'memory that cannot be repaired', replace),
  fatal(recovers(/^(Reset|Reboot|Drain and Reset)$/), 'a request for a reset or a reboot', reset),
  fatal(isYes('gpu_reset_status/reset_required'), 'a request for a reset', reset),
  warning(isYes('remapped_rows/remapped_row_pending'), 'a pending row remapping', whenFree),
  warning(isYes('retired_pages/pending_retirement'), 'a pending retirement of pages', whenFree),
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
    (fields) => (uncorrectableOf(fields) ?? 0) > 0,
    'uncorrectable ECC errors since its driver was loaded',
    whenFree,
  ),
  warning(
    (fields) =>
      ['throttle', 'event'].some(
        (name) =>
          fields.get(`clocks_${name}_reasons/clocks_${name}_reason_hw_thermal_slowdown`) ===
          'Active',
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
  const fault = rows.find(({ holds }) => holds(fields));
  return present({
    celsius: celsius === undefined ? undefined : Number(celsius),
    uncorrectable: uncorrectableOf(fields),
    fault: fault && {
      severity: fault.severity,
      meaning: fault.meaning,
      nextStep: fault.nextStep,
    },
  });
}

/** @returns undefined where ECC is off */
function uncorrectableOf(fields: Fields): number | undefined {
  const counts = [...fields].flatMap(([path, text]) =>
    /^ecc_errors\/volatile\/\w*uncorrectable\w*$/.test(path) && /^\d{1,15}$/.test(text)
      ? [Number(text)]
      : [],
  );
  return counts.length > 0 ? counts.reduce((sum, count) => sum + count, 0) : undefined;
}

function readFields(text: string, address: string): Fields | undefined {
  const fields = new Map<string, string>();
  const path: string[] = [];
  let cards = 0;
  try {
    for (const token of tokenize(text.replace(documentType, ''))) {
      if (token.kind === 'close') path.pop();
      else if (token.kind === 'open') {
        path.push(token.name);
        if (path.join('/') !== 'nvidia_smi_log/gpu') continue;
        cards += 1;
        if (addressOf(token.attributes.get('id')) !== address) return undefined;
      } else if (path[1] === 'gpu' && token.text.trim() !== '') {
        fields.set(path.slice(2).join('/'), token.text.trim());
      }
    }
  } catch (error) {
    if (error instanceof XmlInvalid) return undefined;
    throw error;
  }
  return cards === 1 ? fields : undefined;
}

function addressOf(id = ''): string | undefined {
  const parsed = parsePciAddress(id);
  return parsed && printPciAddress(parsed);
}

function fatal(holds: ToolRow['holds'], what: string, nextStep: string): ToolRow {
  return { holds, severity: 'fatal', meaning: `has ${what}, by nvidia-smi`, nextStep };
}

function warning(holds: ToolRow['holds'], what: string, nextStep: string): ToolRow {
  return { ...fatal(holds, what, nextStep), severity: 'warning' };
}
