// Faults of devices that the kernel has logged since the boot. The agent keeps them over its
// restarts, because the kernel overwrites its log.
//
// INVARIANTS
// - A message counts for no other device than the one whose driver wrote it.
// - A fatal fault ends with the boot, or when the kernel finds the device anew on the bus.

import type { Clock } from '#agent/clock.ts';
import { type Log, reasonOf } from '#agent/log.ts';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import type { FaultRecords, KeptFault } from './fault-records.ts';
import { type FaultRow, faultRows, findFault } from './fault-rows.ts';
import type { KernelLog } from './kernel-log.ts';
import {
  type DriverMessage,
  type KernelRecord,
  parseRecord,
  readMessage,
} from './kernel-record.ts';

export interface DeviceFaults {
  /**
   * Reads what was logged since the last call, never for long. Never rejects.
   *
   * @returns whether the health of a device has changed
   */
  read(): Promise<boolean>;
  /** Its worst fault; of several, the first. */
  healthOf(address: string): ReportedDevice['health'];
}

interface DeviceFaultsDeps {
  readonly kernelLog: KernelLog;
  readonly records: FaultRecords;
  /** When the kernel booted, on the host's clock. */
  readonly bootedMs: number;
  readonly sysfs: Sysfs;
  readonly clock: Clock;
  readonly log: Log;
}

/** One call reads no more, so that a flood of messages does not keep the agent. */
const recordsMax = 20_000;
const readMsMax = 100;
/** A device that is logged again and again is one write of the state in this time. */
const againMs = 600_000;
const warningMs = 24 * 3_600_000;
const lostLoggedMs = 3_600_000;

const rows: ReadonlyMap<string, FaultRow> = new Map(faultRows.map((row) => [row.id, row]));
/** The kernel's core writes it for each function that it finds on the bus. */
const foundAnew = /^\[[0-9a-f]{4}:[0-9a-f]{4}\] type 0\d class /;

export function createDeviceFaults(deps: DeviceFaultsDeps): DeviceFaults {
  const { kernelLog, records, bootedMs, sysfs, clock, log } = deps;
  const faults = new Map<string, KeptFault[]>(
    Object.entries(records.faults).map(([address, kept]) => [address, [...kept]]),
  );
  /** PCI addresses of NVMe controllers, by names that the kernel gives again to others. */
  const controllers = new Map<string, string>();
  let sequence = records.sequence;
  /** What was logged before the agent started is older than the links in sysfs. */
  let isLive = false;
  let isOver = false;
  let lostLoggedAt = Number.NEGATIVE_INFINITY;

  const addressOf = ({ driver, device, isUnproven }: DriverMessage): string | undefined => {
    const name = driver === 'nvme' && device.startsWith('nvme') ? controllerAt(device) : device;
    const parsed = parsePciAddress(name ?? '');
    if (!parsed) return undefined;
    const address = printPciAddress(parsed);
    const path = `bus/pci/devices/${address}`;
    if (isUnproven && linkName(`${path}/driver`) !== driver) return undefined;
    return linkName(`${path}/physfn`) ?? address;
  };
  const controllerAt = (name: string): string | undefined => {
    const isDisk = /n\d+$/.test(name);
    if (!isLive) return isDisk ? undefined : controllers.get(name);
    const controller = isDisk ? linkName(`class/block/${name}/device`) : name;
    if (!controller) return undefined;
    return controllers.get(controller) ?? linkName(`class/nvme/${controller}/device`);
  };
  const linkName = (path: string) => {
    try {
      return sysfs.linkName(path);
    } catch {
      return undefined;
    }
  };

  const add = (address: string, { id, severity }: FaultRow, record: KernelRecord): boolean => {
    const at = new Date(bootedMs + record.atMs);
    const ofDevice = faults.get(address) ?? [];
    const before = ofDevice.find((fault) => fault.id === id);
    if (!before) {
      faults.set(address, [...ofDevice, { id, since: at.toISOString(), last: at.getTime() }]);
      const fields = { address, fault: id, severity, text: record.text.slice(0, 255) };
      log.warn('Device fault in the kernel log', fields);
      return true;
    }
    if (at.getTime() - before.last < againMs) return false;
    const isNew = severity === 'warning' && at.getTime() - before.last >= warningMs;
    const since = isNew ? at.toISOString() : before.since;
    const again = { id, since, last: at.getTime() };
    faults.set(address, [...ofDevice.filter((fault) => fault !== before), again]);
    return true;
  };

  const take = (record: KernelRecord): boolean => {
    const message = readMessage(record);
    if (!message) return false;
    const { driver, device, text } = message;
    if (driver === 'nvme' && text.startsWith('pci function ')) {
      controllers.set(device, text.slice('pci function '.length));
      return false;
    }
    if (record.sequence <= records.sequence) return false;
    if (driver === 'pci' && foundAnew.test(text)) return faults.delete(device);
    const row = findFault(message);
    if (!row) return false;
    const address = addressOf(message);
    return address !== undefined && add(address, row, record);
  };

  const readNow = (): boolean => {
    const untilMs = clock.monotonicMs() + readMsMax;
    let isChanged = false;
    for (let count = 0; count < recordsMax && clock.monotonicMs() < untilMs; count += 1) {
      const next = kernelLog.next();
      if (next === 'end') {
        isLive = true;
        break;
      }
      if (next === 'lost') {
        sayLost();
        continue;
      }
      const record = parseRecord(next.record);
      if (!record) continue;
      sequence = Math.max(sequence, record.sequence);
      isChanged = take(record) || isChanged;
    }
    return isChanged;
  };
  const sayLost = () => {
    if (clock.monotonicMs() - lostLoggedAt < lostLoggedMs) return;
    lostLoggedAt = clock.monotonicMs();
    log.warn('Kernel log overwritten before it was read');
  };

  return {
    read: async () => {
      if (isOver) return false;
      try {
        if (!readNow()) return false;
      } catch (error) {
        isOver = true;
        log.error('Kernel log no longer read', { reason: reasonOf(error) });
        return false;
      }
      try {
        await records.replace(sequence, Object.fromEntries(faults));
      } catch (error) {
        log.error('Faults of devices not kept', { reason: reasonOf(error) });
      }
      return true;
    },
    healthOf: (address) => {
      const current = (faults.get(address) ?? []).flatMap(({ id, since, last }) => {
        const row = rows.get(id);
        const isPast = row?.severity === 'warning' && clock.wallMs() - last >= warningMs;
        return row && !isPast ? [{ row, since }] : [];
      });
      const worst = current.find(({ row }) => row.severity === 'fatal') ?? current[0];
      if (!worst) return undefined;
      const { severity, meaning: reason, nextStep: next_step } = worst.row;
      const state = severity === 'fatal' ? 'unhealthy' : 'degraded';
      return { state, reason, since: worst.since, next_step };
    },
  };
}
