// What vendors' tools say of the cards that a vendor's driver holds on the host. A card on
// vfio-pci is in a guest, and no tool of the host sees it.
//
// INVARIANTS
// - An output that is not the tool's, or of another card, is no fault of a card.
// - A fault stays until the tool says that the card does not have it: a tool that fails says
//   nothing new. A warning also ends when no tool is asked about its card any more.

import type { Clock } from '#agent/clock.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Answer, Hardware } from '#agent/hardware/port.ts';
import { type Log, reasonOf } from '#agent/log.ts';
import { isConfirmedSince, type ReadConfirmations } from '#agent/state/confirmations.ts';
import { cardIdsAt } from '#agent/sysfs/pci.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';
import { amdSmiRulesOut, parseAmdSmi } from './amd-smi.ts';
import { nvidiaSmiRulesOut, readNvidiaSmi } from './nvidia-smi.ts';
import type { ToolFault, ToolReading } from './tool-reading.ts';
import type { KeptToolFault, ToolRecords } from './tool-records.ts';

export interface VendorTools {
  /** Asks about one card after the other. Never rejects. @returns whether a health has changed */
  read(): Promise<boolean>;
  healthOf(address: string): ReportedDevice['health'];
  /** The last ones, by PCI address. */
  readings(): ReadonlyMap<string, ToolReading>;
}

interface VendorToolsDeps {
  readonly sysfs: Sysfs;
  readonly hardware: Pick<Hardware, 'exec' | 'isInstalled'>;
  /** Without it faults end with the agent. */
  readonly records?: ToolRecords;
  /** Devices that the operator has confirmed: a fault before that is over. */
  readonly confirmations?: ReadConfirmations;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly log: Log;
}

interface Tool {
  readonly name: string;
  /** Drivers of the kernel. */
  readonly drivers: readonly string[];
  readonly args: (address: string) => readonly string[];
  /** @throws Error with the reason if the answer says nothing of the card */
  readonly read: (answer: Answer, address: string) => ToolReading;
  readonly rulesOut: (text: string, address: string, meaning: string) => boolean;
}

const tools: readonly Tool[] = [
  {
    name: 'nvidia-smi',
    drivers: ['nvidia'],
    args: (address) => ['-q', '-x', '-i', address],
    read: readNvidiaSmi,
    rulesOut: nvidiaSmiRulesOut,
  },
  {
    name: 'amd-smi',
    drivers: ['amdgpu', 'gim'],
    args: (address) => ['metric', '--ecc', '--temperature', '--json', `--gpu=${address}`],
    read: ({ exitCode, stdout }) => {
      const reading = exitCode === 0 ? parseAmdSmi(stdout) : undefined;
      if (reading) return reading;
      throw new Error(
        exitCode === 0
          ? 'amd-smi printed what is not valid for it'
          : `amd-smi ended with ${exitCode}`,
      );
    },
    rulesOut: (text, _address, meaning) => amdSmiRulesOut(text, meaning),
  },
];

/** Without persistence mode, NVIDIA's driver starts the card first. */
const askMs = 60_000;
const everyMs = 600_000;
/** A tool that fails for longer is a warning: faults that it would name are not seen. */
const failingMs = 3_600_000;

/** A tool that has failed for a card since then. */
interface ToolFailure {
  readonly tool: string;
  readonly sinceMs: number;
  readonly reason: string;
  readonly isLate: boolean;
}

export function createVendorTools({
  sysfs,
  hardware,
  records,
  confirmations = async () => ({}),
  clock,
  log,
}: VendorToolsDeps): VendorTools {
  let readings: ReadonlyMap<string, ToolReading> = new Map();
  let failures: ReadonlyMap<string, ToolFailure> = new Map();
  let faults: ReadonlyMap<string, KeptToolFault> = new Map(Object.entries(records?.faults ?? {}));
  /** The file does not have these faults yet: each reading tries again to write them. */
  let isUnsaved = false;
  let shown: ReadonlyMap<string, ReportedDevice['health']> = new Map();

  const cardsOf = (driver: string): readonly string[] => {
    const names = sysfs.list(`bus/pci/drivers/${driver}`) ?? [];
    const isCard = (name: string) =>
      parsePciAddress(name) && sysfs.linkName(`bus/pci/devices/${name}/physfn`) === undefined;
    return names.filter(isCard);
  };
  /** Whether the fault is that of another card, which was at the address before. */
  const isForeign = (address: string, { ids }: KeptToolFault) => {
    const now = cardIdsAt(sysfs, address);
    return ids !== undefined && now !== undefined && ids !== now;
  };

  const ask = async (tool: Tool, address: string) => {
    // Under a key of its own: a tool that is slow must not keep a bind of the card waiting.
    const key = `${tool.name} ${address}`;
    const answer = await hardware.exec(key, tool.name, tool.args(address), askMs);
    const reading = tool.read(answer, address);
    return { reading, fault: faultAfter(tool, address, answer.stdout, reading.fault) };
  };
  /** The fault of the card after an answer, which may not say how the fault before it stands. */
  const faultAfter = (tool: Tool, address: string, text: string, named: ToolFault | undefined) => {
    const before = faults.get(address);
    if (before && !isForeign(address, before)) {
      if (before.meaning === named?.meaning) return before;
      const isWorse = named?.severity === 'fatal' && before.severity === 'warning';
      if (!isWorse && !tool.rulesOut(text, address, before.meaning)) return before;
    }
    const since = new Date(clock.wallMs()).toISOString();
    return named && { ...named, since, ...present({ ids: cardIdsAt(sysfs, address) }) };
  };

  const readAll = async () => {
    const nextReadings = new Map<string, ToolReading>();
    const confirmed = faults.size > 0 ? await confirmations() : {};
    const isOver = (address: string, fault: KeptToolFault) =>
      isForeign(address, fault) || isConfirmedSince(confirmed, address, Date.parse(fault.since));
    const before = faults;
    faults = new Map([...before].filter(([address, fault]) => !isOver(address, fault)));
    const nextFaults = new Map(faults);
    const nextFailures = new Map<string, ToolFailure>();
    const queried = new Set<string>();
    for (const tool of tools) {
      if (!hardware.isInstalled(tool.name)) continue;
      for (const address of tool.drivers.flatMap(cardsOf)) {
        queried.add(address);
        try {
          const { reading, fault } = await ask(tool, address);
          nextReadings.set(address, reading);
          if (fault) nextFaults.set(address, fault);
          else nextFaults.delete(address);
        } catch (error) {
          const reason = reasonOf(error);
          const failed = failures.get(address);
          if (failed?.reason !== reason) log.warn('Vendor tool not read', { address, reason });
          const sinceMs = failed?.sinceMs ?? clock.wallMs();
          nextFailures.set(address, { tool: tool.name, sinceMs, reason, isLate: isLate(error) });
        }
      }
    }
    // No answer would ever end a warning of another card: one on vfio-pci, or without its tool.
    for (const [address, { severity }] of nextFaults) {
      if (severity === 'warning' && !queried.has(address)) nextFaults.delete(address);
    }
    isUnsaved ||= JSON.stringify([...before]) !== JSON.stringify([...nextFaults]);
    [readings, faults, failures] = [nextReadings, nextFaults, nextFailures];
    if (!isUnsaved) return;
    await records?.replace(Object.fromEntries(faults));
    isUnsaved = false;
  };

  const describeHealth = (address: string): ReportedDevice['health'] => {
    const kept = faults.get(address);
    const fault = kept && !isForeign(address, kept) ? kept : failureOf(address);
    if (!fault) return undefined;
    const state = fault.severity === 'fatal' ? 'unhealthy' : 'degraded';
    return { state, reason: fault.meaning, since: fault.since, next_step: fault.nextStep };
  };
  const failureOf = (address: string): KeptToolFault | undefined => {
    const failure = failures.get(address);
    const isLong = failure && clock.wallMs() - failure.sinceMs >= failingMs;
    if (!failure || !(failure.isLate || isLong)) return undefined;
    const fault = failure.isLate ? silent(failure.tool) : failing(failure);
    return { ...fault, since: new Date(failure.sinceMs).toISOString() };
  };

  return {
    async read() {
      try {
        await readAll();
      } catch (error) {
        log.error('Vendor tools not read', { reason: reasonOf(error) });
      }
      const before = JSON.stringify([...shown]);
      shown = new Map(
        [...new Set([...faults.keys(), ...failures.keys()])].flatMap((address) => {
          const health = describeHealth(address);
          return health ? [[address, health] as const] : [];
        }),
      );
      return JSON.stringify([...shown]) !== before;
    },
    healthOf: describeHealth,
    readings: () => readings,
  };
}

/** A tool that cannot be killed keeps its key, so that it is not started again. */
function isLate(error: unknown): boolean {
  return error instanceof HardwareError && ['ETIMEDOUT', 'EBUSY'].includes(error.code);
}

function silent(tool: string): ToolFault {
  return {
    severity: 'warning',
    meaning: `keeps ${tool} from ending within ${askMs / 1000} s`,
    nextStep: `Run ${tool} on the host, and read the kernel's log. Reboot the host if it hangs again.`,
  };
}

function failing({ tool, reason }: ToolFailure): ToolFault {
  return {
    severity: 'warning',
    meaning: `has not been read for an hour: ${reason}`.slice(0, 255),
    nextStep: `Run ${tool} on the host: faults of the device that it would name are not seen.`,
  };
}

/** @param changed called when the health of a device has changed */
export async function watchVendorTools(
  vendorTools: VendorTools,
  clock: Clock,
  stop: AbortSignal,
  changed: () => void,
): Promise<void> {
  while (!stop.aborted) {
    if (await vendorTools.read()) changed();
    await clock.sleep(everyMs, stop);
  }
}
