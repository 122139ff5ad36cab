// Devices that cannot be made ready for servers: one whose last preparations have all failed is
// unhealthy, or Nova's next servers would fail on it one after another. The host alone sees what
// the preparations have in common, and when the cause may have ended. Only handles count: a region
// that does not take an image may show a fault of the image, and one tenant's image would withhold
// each card that it reaches.

import type { Clock } from '#agent/clock.ts';
import { type Log, reasonOf } from '#agent/log.ts';
import { isConfirmedSince, type ReadConfirmations } from '#agent/state/confirmations.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import { canonicalJson } from '#core/contracts/report/device-digest.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';

/** The failures of one or two binds may be chance. */
const bindsMax = 3;
/** A failure that is older says nothing of the device now. */
const rowMs = 60 * 60_000;

/** Does the driver's work on the device of a step, and keeps whether it has failed. */
export type Attempt = <T>(work: () => Promise<T>) => Promise<T>;

export interface FailedPreparations {
  /** The same bind counts once: its job is retried, and it may have several handles. */
  attemptAt(address: string, bindId: string): Attempt;
  /**
   * Ends what may be over: an operator has confirmed the device, or its driver describes it in
   * another way than after the last failure. A restart of the agent and a boot end it, too.
   */
  look(devices: readonly ReportedDevice[]): Promise<void>;
  healthOf(address: string): ReportedDevice['health'];
}

interface Failures {
  readonly bindIds: ReadonlySet<string>;
  readonly lastMs: number;
  readonly reason: string;
  /** The device as its driver described it then. */
  readonly described?: string;
}

export function createFailedPreparations(
  clock: Pick<Clock, 'wallMs'>,
  confirmations: ReadConfirmations,
  log: Log,
): FailedPreparations {
  const failures = new Map<string, Failures>();
  const isWithheld = ({ bindIds }: Failures) => bindIds.size >= bindsMax;

  const add = (address: string, bindId: string, error: unknown): void => {
    const lastMs = clock.wallMs();
    const before = failures.get(address);
    const wasWithheld = before !== undefined && isWithheld(before);
    const isInRow = before && (wasWithheld || lastMs - before.lastMs <= rowMs);
    const bindIds = new Set(isInRow ? before.bindIds : []).add(bindId);
    const added = { bindIds, lastMs, reason: reasonOf(error) };
    failures.set(address, added);
    if (!wasWithheld && isWithheld(added)) log.error('Device withheld after failures', { address });
  };

  return {
    attemptAt: (address, bindId) => async (work) => {
      try {
        const done = await work();
        failures.delete(address);
        return done;
      } catch (error) {
        add(address, bindId, error);
        throw error;
      }
    },
    look: async (devices) => {
      const withheld = devices.flatMap((device) => {
        const kept = failures.get(device.address);
        return kept && isWithheld(kept) ? [{ device, kept }] : [];
      });
      if (withheld.length === 0) return;
      const confirmed = await confirmations();
      for (const { device, kept } of withheld) {
        const { address } = device;
        // A preparation has ended since: the next look judges what it left.
        if (failures.get(address) !== kept) continue;
        const described = describe(device);
        const isChanged = kept.described !== undefined && kept.described !== described;
        if (isChanged || isConfirmedSince(confirmed, address, kept.lastMs))
          failures.delete(address);
        else failures.set(address, { ...kept, described });
      }
    },
    healthOf: (address) => {
      const kept = failures.get(address);
      if (!kept || !isWithheld(kept)) return undefined;
      const { bindIds, lastMs, reason } = kept;
      // The command takes no other address.
      const end = parsePciAddress(address)
        ? `Then, on the host: cyborg-agent confirm ${address}`
        : 'Then restart the agent.';
      return {
        state: 'unhealthy',
        reason: `could not be made ready for ${bindIds.size} binds in a row: ${reason}`.slice(
          0,
          255,
        ),
        since: new Date(lastMs).toISOString(),
        next_step: `Remove the cause on the host; the log of the agent has each failure. ${end}`,
      };
    },
  };
}

/** A fault of the device that begins or ends is no change of it. */
function describe(device: ReportedDevice): string {
  const { health: _, ...rest } = device;
  return canonicalJson(rest);
}
