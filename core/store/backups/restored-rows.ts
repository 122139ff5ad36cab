// How the rows of a backup are changed when it is restored: they state what was true at the
// moment of the backup. Pure.

import { hostKey, hostSummaryKey, type Row, reaperKey } from '#core/store/rows/rows.ts';
import type { TableName } from '#core/store/table/tables.ts';

interface Restored {
  /** The moment of the backup; ISO 8601. */
  readonly moment: string;
  /** The time of the restore; ms since 1970. */
  readonly now: number;
  /** The row under the same key now; undefined if there is none. */
  readonly current: Row | undefined;
}

/** The row to write, or undefined if the key shall have no row. */
export function restoredRow(
  table: TableName,
  backup: Row | undefined,
  { moment, now, current }: Restored,
): Row | undefined {
  if (table !== 'inventory') return backup?.pk === reaperKey().pk ? undefined : backup;
  const key = backup ?? current ?? {};
  // The host reports its own state: the current row is at least as good as the backup's.
  if (key.sk === hostKey('').sk) return restoredHost(backup, current);
  if (key.sk === hostSummaryKey('').sk) return current ?? backup;
  if (backup === undefined) return undefined;
  if (isHandle(backup)) {
    // The agent may remember epochs of a row that is lost: like the epoch of a new handle, this
    // one is higher than any of them.
    const epoch = Math.max(epochAfter(backup, current), now);
    return { ...withheldHandle(backup, moment), epoch };
  }
  // No device has this digest, so the next report describes the device.
  if (isDevice(backup)) return { ...backup, device: { ...(backup.device as Row), digest: '' } };
  return backup;
}

/** The handle as restored: no bind claims it until its holder since that moment is known. */
function withheldHandle(handle: Row, moment: string): Row {
  const restoredAt = handle.restored_at as string | undefined;
  return {
    ...handle,
    restored_at: restoredAt !== undefined && restoredAt < moment ? restoredAt : moment,
  };
}

export function isHandle({ sk }: Row): boolean {
  return String(sk).startsWith('HANDLE#');
}

function isDevice({ sk }: Row): boolean {
  return String(sk).startsWith('DEVICE#');
}

/** The host's next report is applied whatever its number, and describes all of its devices. */
function restoredHost(backup: Row | undefined, current: Row | undefined): Row {
  const { lease_holder, lease_until, ...host } = current ?? foreignHost(backup);
  return {
    ...host,
    epoch: epochAfter(backup, current),
    sequence: -1,
    wanted: {},
    // The bindings of the backup may come from an earlier boot than the stored one.
    ...(host.boot_id !== undefined && { reprovisioning: true }),
  };
}

/**
 * A host's row of a stage that has no such row, such as one in another region: AWS IoT counts the
 * host's connections anew there, so events are ordered by their time until the next one.
 */
function foreignHost(backup: Row | undefined): Row {
  const { presence, ...host } = backup ?? {};
  if (presence === undefined) return host;
  const { version, ...lasting } = presence as Row;
  return { ...host, presence: lasting };
}

/** Writes that were decided before the restore carry a lower epoch and fail. */
function epochAfter(backup: Row | undefined, current: Row | undefined): number {
  return Math.max(Number(backup?.epoch ?? 0), Number(current?.epoch ?? 0)) + 1;
}
