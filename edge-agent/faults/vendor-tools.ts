// What vendors' tools say of the cards that a vendor's driver holds on the host. A card on
// vfio-pci is in a guest, and no tool of the host sees it.
//
// INVARIANT: an output that is not the tool's, or of another card, is no fault of a card.

import type { Clock } from '#agent/clock.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { type Log, reasonOf } from '#agent/log.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { parseAmdSmi } from './amd-smi.ts';
import { parseNvidiaSmi } from './nvidia-smi.ts';
import type { ToolFault, ToolReading } from './tool-reading.ts';

export interface VendorTools {
  /** Asks about one card after the other. Never rejects. @returns whether a health has changed */
  read(): Promise<boolean>;
  healthOf(address: string): ReportedDevice['health'];
  /** The last ones, by PCI address. */
  readings(): ReadonlyMap<string, ToolReading>;
}

interface VendorToolsDeps {
  readonly sysfs: Pick<Sysfs, 'list' | 'linkName'>;
  readonly hardware: Pick<Hardware, 'exec' | 'isInstalled'>;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly log: Log;
}

interface Tool {
  readonly name: string;
  /** Drivers of the kernel. */
  readonly drivers: readonly string[];
  readonly args: (address: string) => readonly string[];
  readonly parse: (text: string, address: string) => ToolReading | undefined;
}

const tools: readonly Tool[] = [
  {
    name: 'nvidia-smi',
    drivers: ['nvidia'],
    args: (address) => ['-q', '-x', '-i', address],
    parse: parseNvidiaSmi,
  },
  {
    name: 'amd-smi',
    drivers: ['amdgpu', 'gim'],
    args: (address) => ['metric', '--ecc', '--temperature', '--json', `--gpu=${address}`],
    parse: parseAmdSmi,
  },
];

/** Without persistence mode, NVIDIA's driver starts the card first. */
const askMs = 60_000;
const everyMs = 600_000;

interface Shown {
  readonly fault: ToolFault;
  /** ISO 8601. */
  readonly since: string;
}

export function createVendorTools({ sysfs, hardware, clock, log }: VendorToolsDeps): VendorTools {
  let readings: ReadonlyMap<string, ToolReading> = new Map();
  let shown: ReadonlyMap<string, Shown> = new Map();
  let said: ReadonlyMap<string, string> = new Map();

  const cardsOf = (driver: string): readonly string[] => {
    const names = sysfs.list(`bus/pci/drivers/${driver}`) ?? [];
    const isCard = (name: string) =>
      parsePciAddress(name) && sysfs.linkName(`bus/pci/devices/${name}/physfn`) === undefined;
    return names.filter(isCard);
  };

  const ask = async ({ name, args, parse }: Tool, address: string): Promise<ToolReading> => {
    // Under a key of its own: a tool that is slow must not keep a bind of the card waiting.
    const answer = await hardware.exec(`${name} ${address}`, name, args(address), askMs);
    if (answer.exitCode !== 0) throw new Error(`${name} ended with ${answer.exitCode}`);
    const reading = parse(answer.stdout, address);
    if (!reading) throw new Error(`${name} printed what is not valid for it`);
    return reading;
  };

  const readAll = async () => {
    const next = new Map<string, ToolReading>();
    const complaints = new Map<string, string>();
    for (const tool of tools) {
      if (!hardware.isInstalled(tool.name)) continue;
      for (const address of tool.drivers.flatMap(cardsOf)) {
        try {
          next.set(address, await ask(tool, address));
        } catch (error) {
          complaints.set(address, reasonOf(error));
          if (isLate(error)) next.set(address, { fault: silent(tool.name) });
        }
      }
    }
    for (const [address, reason] of complaints) {
      if (said.get(address) !== reason) log.warn('Vendor tool not read', { address, reason });
    }
    said = complaints;
    return next;
  };

  return {
    async read() {
      try {
        readings = await readAll();
      } catch (error) {
        log.error('Vendor tools not read', { reason: reasonOf(error) });
        return false;
      }
      const before = shown;
      const since = new Date(clock.wallMs()).toISOString();
      shown = new Map(
        [...readings].flatMap(([address, { fault }]) => {
          const same = before.get(address);
          if (!fault) return [];
          const isSame = same?.fault.meaning === fault.meaning;
          return [[address, { fault, since: isSame ? same.since : since }] as const];
        }),
      );
      return (
        shown.size !== before.size ||
        [...shown].some(([address, { since: now }]) => before.get(address)?.since !== now)
      );
    },
    healthOf(address) {
      const each = shown.get(address);
      if (!each) return undefined;
      const { severity, meaning: reason, nextStep: next_step } = each.fault;
      const state = severity === 'fatal' ? 'unhealthy' : 'degraded';
      return { state, reason, since: each.since, next_step };
    },
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
