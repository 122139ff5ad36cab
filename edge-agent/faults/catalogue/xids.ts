// NVIDIA's catalogue of Xids: what each asks for. The catalogue has RESTART_APP or IGNORE for what
// a program or a guest can cause by itself, such as Xid 13, 31 and 43: those are no rows.

import { afterRepair, afterReplacement, type FaultRow, slot, watch } from './row.ts';

export const xidCatalogue = 'https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html';
export const gpuReset = `Evacuate the host's servers on this GPU, and reset it or reboot the host. ${afterRepair}`;

/** What the catalogue asks for, as the next step of an operator. */
const actions = {
  reset: gpuReset,
  replace: `Evacuate the host's servers on this GPU, run the field diagnostics, and replace it. ${afterReplacement}`,
  reboot: slot,
  power: `Connect the power cables of the card. ${afterRepair}`,
  'restart guest': 'Restart the server that has the GPU.',
  'reset when free': 'Reset the GPU when it is free.',
  imex: 'Recover the IMEX domain of the GPU, on all hosts that share its memory by NVLink.',
  links: `Check the GPU's NVLink connections. ${watch}`,
  watch,
} as const;
type XidAction = keyof typeof actions;

type XidEntry = readonly [
  number: number,
  severity: FaultRow['severity'],
  what: string,
  action: XidAction,
];

const entries: readonly XidEntry[] = [
  [46, 'fatal', 'a GPU that stopped processing', 'reset'],
  [48, 'fatal', 'an uncorrectable ECC error', 'reset'],
  [54, 'fatal', 'auxiliary power that is not connected', 'power'],
  [62, 'fatal', 'a halt of an internal microcontroller', 'reset'],
  [63, 'warning', 'a memory row that is remapped at the next reset', 'reset when free'],
  [64, 'fatal', 'a memory row that could not be remapped', 'replace'],
  [74, 'warning', 'an error of NVLink', 'links'],
  [79, 'fatal', 'a GPU that has fallen off the bus', 'reboot'],
  [92, 'warning', 'a high rate of corrected ECC errors', 'watch'],
  [94, 'warning', 'a contained ECC error', 'reset when free'],
  [95, 'fatal', 'an uncontained ECC error', 'reset'],
  [109, 'fatal', 'a timeout of a context switch', 'reset'],
  [110, 'fatal', 'a security fault', 'reset'],
  [119, 'fatal', 'a timeout of its GSP', 'reset'],
  [120, 'fatal', 'an error of its GSP', 'reset'],
  [136, 'fatal', 'a failed training of an NVLink', 'reset'],
  [140, 'fatal', 'an unrecovered ECC error', 'reset'],
  [143, 'fatal', 'a failed initialisation', 'reset'],
  [151, 'warning', 'a failed rotation of keys', 'restart guest'],
  // The driver writes it for links that software takes down, too.
  [155, 'warning', 'an NVLink that is down', 'links'],
  [156, 'fatal', 'a unit that is retired at the next reset', 'reset'],
  [157, 'warning', 'a unit that could not be retired', 'watch'],
  [158, 'fatal', 'a fatal timeout', 'reset'],
  [167, 'fatal', 'a fatal timeout on PCIe', 'reset'],
  [168, 'warning', 'a smaller memory, after errors in a protected part of it', 'watch'],
  [169, 'fatal', 'a halt of its security processor', 'reset'],
  [171, 'fatal', 'an uncorrectable error of DRAM', 'reset'],
  [172, 'fatal', 'an uncorrectable error of SRAM', 'reset'],
  [173, 'fatal', 'a failed link to its processor (C2C)', 'reset'],
  // The driver writes it instead of 119 if the memory is the cause.
  [175, 'fatal', 'a timeout of its GSP by an error of its memory', 'reset'],
];

/**
 * NVLink 5: the driver writes the severity after the unit, then flags and the link, which a name
 * of a process is too short to imitate.
 */
const nvlink5: readonly (readonly [number: number, unit: string])[] = [
  [144, 'SAW'],
  [145, 'RLW'],
  [146, 'TLW'],
  [147, 'TREX'],
  [148, 'NVLPW'],
  [149, 'NETIR'],
  [150, 'MSE'],
];

function xid(
  [number, severity, what, action]: XidEntry,
  {
    id = `xid-${number}`,
    pattern = new RegExp(`^Xid ${number},`),
    releases,
  }: Partial<Pick<FaultRow, 'id' | 'pattern' | 'releases'>> = {},
): FaultRow {
  return {
    id,
    drivers: ['nvidia'],
    pattern,
    severity,
    meaning: `has had Xid ${number} in the kernel log: ${what}`,
    nextStep: actions[action],
    ...(action === 'replace' && { lasts: true }),
    source: xidCatalogue,
    printedBy: 'nvidia, R390 and later; the catalogue of R595',
    ...(releases && { releases }),
  };
}

function nvlink(number: number, unit: string, severity: FaultRow['severity']): FaultRow {
  const isFatal = severity === 'fatal';
  const words = isFatal ? '(?:Link )?Fatal' : 'Non-?[Ff]atal';
  const pattern = new RegExp(`^Xid ${number}, .*?\\S+\\s+${words}\\s+XC\\d+ i\\d+ Link -?\\d+`);
  const what = `${isFatal ? 'a fatal' : 'an'} error of NVLink (${unit})`;
  return xid([number, severity, what, isFatal ? 'reset' : 'links'], {
    id: isFatal ? `xid-${number}` : `xid-${number}-nonfatal`,
    pattern,
  });
}

export const xidRows: readonly FaultRow[] = [
  ...entries.map((entry) => xid(entry)),
  ...nvlink5.flatMap(([number, unit]) => [
    nvlink(number, unit, 'fatal'),
    nvlink(number, unit, 'warning'),
  ]),
  // 0x3 is Drain P2P, and 0x5 is of the IMEX domain: they ask for no reset.
  xid([154, 'fatal', 'a request of its driver for a reset or a reboot', 'reset'], {
    pattern: /^Xid 154, GPU recovery action changed .*to 0x[1246-9a-f] /,
    releases: ['R570'],
  }),
  xid([154, 'warning', 'a request of its driver to stop traffic between GPUs', 'reset when free'], {
    id: 'xid-154-p2p',
    pattern: /^Xid 154, GPU recovery action changed .*to 0x3 /,
  }),
  xid([154, 'warning', 'a request of its driver to recover its IMEX domain', 'imex'], {
    id: 'xid-154-imex',
    pattern: /^Xid 154, GPU recovery action changed .*to 0x5 /,
  }),
];
