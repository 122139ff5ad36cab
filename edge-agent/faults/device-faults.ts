// Faults of devices that the kernel has logged since the boot. The agent keeps them over its
// restarts, because the kernel overwrites its log.
//
// INVARIANTS
// - A message counts for the device whose driver wrote it, and for the devices below it if it is a
//   port whose link went down. That of an NVSwitch counts for the GPUs that it links.
// - A fatal fault ends with the boot, or when the kernel finds the device anew on the bus. A fault
//   that lasts ends when an operator confirms the device.

import type { Clock } from '#agent/clock.ts';
import { type Log, reasonOf } from '#agent/log.ts';
import { isConfirmedSince, type ReadConfirmations } from '#agent/state/confirmations.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';
import { createFaultPlaces } from './fault-places.ts';
import type { FaultRecords, KeptFault } from './fault-records.ts';
import { type FaultRow, faultRows, findFault } from './fault-rows.ts';
import type { KernelLog } from './kernel/kernel-log.ts';
import { type KernelRecord, parseRecord } from './kernel/kernel-record.ts';
import { createMessageReader } from './kernel/message-reader.ts';

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
  /** Devices that the operator has confirmed: a lasting fault before that is over. */
  readonly confirmations?: ReadConfirmations;
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
/** Twice the devices of the largest hosts: what the kernel names must not grow without end. */
const devicesMax = 1024;

const rows: ReadonlyMap<string, FaultRow> = new Map(faultRows.map((row) => [row.id, row]));
/** The kernel's core writes it for each function that it finds on the bus. */
const foundAnew = /^\[[0-9a-f]{4}:[0-9a-f]{4}\] type 0\d class /;

export function createDeviceFaults(deps: DeviceFaultsDeps): DeviceFaults {
  const { kernelLog, records, confirmations, bootedMs, sysfs, clock, log } = deps;
  const places = createFaultPlaces(sysfs);
  const readMessage = createMessageReader();
  const faults = new Map<string, KeptFault[]>(
    Object.entries(records.faults).map(([address, kept]) => [address, [...kept]]),
  );
  let sequence = records.sequence;
  let isOver = false;
  let lostLoggedAt = Number.NEGATIVE_INFINITY;

  /** @param port the port above the device, or its NVSwitch, at which it was logged */
  const add = (address: string, row: FaultRow, record: KernelRecord, port?: string): boolean => {
    if (!faults.has(address) && faults.size >= devicesMax) return false;
    const { id, severity, lasts } = row;
    const at = new Date(bootedMs + record.atMs);
    const ofDevice = faults.get(address) ?? [];
    const before = ofDevice.find((fault) => fault.id === id && fault.port === port);
    if (before && at.getTime() - before.last < againMs) return false;
    const isNew = !before || (severity === 'warning' && at.getTime() - before.last >= warningMs);
    const since = isNew ? at.toISOString() : before.since;
    const ids = lasts && places.idsAt(address);
    const fault = { id, since, last: at.getTime(), ...present({ port, lasts, ids }) };
    faults.set(address, [...ofDevice.filter((each) => each !== before), fault]);
    if (!before) {
      const fields = { address, fault: id, severity, text: record.text.slice(0, 255) };
      log.warn('Device fault in the kernel log', { ...fields, ...present({ port }) });
    }
    return true;
  };
  /** Keeps only some faults. @returns whether there were others */
  const keep = (address: string, isKept: (fault: KeptFault) => boolean): boolean => {
    const before = faults.get(address) ?? [];
    const kept = before.filter(isKept);
    if (kept.length > 0) faults.set(address, kept);
    else faults.delete(address);
    return kept.length < before.length;
  };

  /** Ports repeat themselves: one read lists the devices that a fault reaches once. */
  let reachedFrom = new Map<string, readonly string[]>();
  const reachedBy = ({ reaches }: FaultRow, address: string): readonly string[] => {
    if (!reaches) return [];
    const key = `${reaches} ${address}`;
    const reached =
      reachedFrom.get(key) ?? (reaches === 'below' ? places.below(address) : places.linked());
    reachedFrom.set(key, reached);
    return reached;
  };

  const take = (record: KernelRecord): boolean => {
    const message = readMessage(record);
    if (!message) return false;
    const { driver, device, text } = message;
    if (driver === 'nvme' && text.startsWith('pci function ')) {
      places.nameController(device, text.slice('pci function '.length));
      return false;
    }
    if (record.sequence <= records.sequence) return false;
    if (driver === 'pci' && foundAnew.test(text))
      return keep(device, ({ lasts }) => lasts === true);
    const row = findFault(message);
    const address = row && places.find(message);
    if (!row || address === undefined) return false;
    const changes = [
      add(address, row, record),
      ...reachedBy(row, address).map((each) => add(each, row, record, address)),
    ];
    return changes.includes(true);
  };

  /** Ends what lasts, if the operator has confirmed the device or another card is there. */
  const endConfirmed = async (): Promise<boolean> => {
    const isLasting = (address: string) => faults.get(address)?.some(({ lasts }) => lasts);
    const lasting = [...faults.keys()].filter(isLasting);
    // A file is read every two seconds only while it could end something.
    if (lasting.length === 0) return false;
    const confirmed = (await confirmations?.()) ?? {};
    const changes = lasting.map((address) => {
      const now = places.idsAt(address);
      return keep(address, ({ lasts, last, ids }) => {
        if (!lasts) return true;
        const isOther = ids !== undefined && now !== undefined && ids !== now;
        return !isOther && !isConfirmedSince(confirmed, address, last);
      });
    });
    return changes.includes(true);
  };

  const readNow = (): boolean => {
    reachedFrom = new Map();
    const untilMs = clock.monotonicMs() + readMsMax;
    let isChanged = false;
    for (let count = 0; count < recordsMax && clock.monotonicMs() < untilMs; count += 1) {
      const next = kernelLog.next();
      if (next === 'end') {
        places.goLive();
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
        // First, so that a fault which returns after the confirmation is a new one.
        const isEnded = await endConfirmed();
        const isChanged = readNow();
        if (!isChanged && !isEnded) return false;
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
      const current = (faults.get(address) ?? []).flatMap(({ id, since, last, port }) => {
        const row = rows.get(id);
        const isPast = row?.severity === 'warning' && clock.wallMs() - last >= warningMs;
        return row && !isPast ? [{ row, since, port }] : [];
      });
      const worst =
        current.find(({ row }) => row.lasts) ??
        current.find(({ row }) => row.severity === 'fatal') ??
        current[0];
      if (!worst) return undefined;
      const { severity, meaning, nextStep: next_step, reaches, lasts } = worst.row;
      const state = severity === 'fatal' ? 'unhealthy' : 'degraded';
      const { port, since } = worst;
      const place = reaches === 'linked' ? 'linked by the NVSwitch' : 'below the port';
      const reason = port === undefined ? meaning : `is ${place} ${port}, which ${meaning}`;
      const endsWithBoot = severity === 'fatal' && !lasts;
      return { state, reason, since, next_step, ...(endsWithBoot && { needs_reboot: true }) };
    },
  };
}
