// What becomes of a backup's rows when they are put back: they say what was true at its moment, and no
// more. Pure.

import { hostKey, type Row, reaperKey } from './rows.ts';
import type { TableName } from './tables.ts';

export interface Restored {
  /** Of the backup; ISO 8601. */
  readonly moment: string;
  /** Of putting it back; ms since 1970. */
  readonly now: number;
  /** The row that takes its place, or that has no counterpart in the backup. */
  readonly current: Row | undefined;
}

/** The row as it is written, or undefined where there is to be none. */
export function restoredRow(
  table: TableName,
  backup: Row | undefined,
  { moment, now, current }: Restored,
): Row | undefined {
  if (table !== 'inventory') return backup?.pk === reaperKey().pk ? undefined : backup;
  const key = backup ?? current ?? {};
  // What a host is it says itself: what is known of it now is at least as good.
  if (key.sk === hostKey('').sk) return restoredHost(backup, current);
  if (backup === undefined) return undefined;
  if (isHandle(backup)) {
    // Where the current row is lost, its host remembers epochs that we do not: as a new handle's, this
    // one is beyond them.
    const epoch = Math.max(epochAfter(backup, current), now);
    return { ...withheldHandle(backup, moment), epoch };
  }
  // No report has it like that, so its host is asked to describe it.
  if (isDevice(backup)) return { ...backup, device: { ...(backup.device as Row), digest: '' } };
  return backup;
}

/** A handle that is not given to anybody until it is known whose it was since that moment. */
export function withheldHandle(handle: Row, moment: string): Row {
  const known = handle.restored_at as string | undefined;
  return { ...handle, restored_at: known !== undefined && known < moment ? known : moment };
}

export function isHandle({ sk }: Row): boolean {
  return String(sk).startsWith('HANDLE#');
}

function isDevice({ sk }: Row): boolean {
  return String(sk).startsWith('DEVICE#');
}

/** Its next report is news, whatever its number, and its devices are those that it then describes. */
function restoredHost(backup: Row | undefined, current: Row | undefined): Row {
  const { lease_holder, lease_until, ...host } = current ?? backup ?? {};
  return {
    ...host,
    epoch: epochAfter(backup, current),
    sequence: -1,
    wanted: {},
    // What the backup binds may have been made under an earlier boot than the one that is known now.
    ...(host.boot_id !== undefined && { reprovisioning: true }),
  };
}

/** Whatever was decided before is decided on an epoch that is over. */
function epochAfter(backup: Row | undefined, current: Row | undefined): number {
  return Math.max(Number(backup?.epoch ?? 0), Number(current?.epoch ?? 0)) + 1;
}
