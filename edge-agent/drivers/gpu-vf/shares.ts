// The shares that the virtual functions of one card have of it, as the kernel's driver of the card
// shows and takes them. The host's files decide which driver that is, never the model.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import { reasonOf } from '#agent/log.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import { gimShares } from './gim.ts';
import { i915Shares, xeShares } from './intel.ts';
import type { GpuVfCards, Profile } from './settings.ts';

/** One value: of one function, or of all functions of the card. */
export interface ShareValue {
  readonly key: keyof Profile;
  /** Number of the virtual function, from 1; absent for a value of the card. */
  readonly number?: number;
  /** The kernel's spelling; absent: all functions must have the same value. */
  readonly expected?: string;
  /** Whether it may be changed while the function exists. */
  readonly isLive: boolean;
  /** What the kernel prints, checked. */
  readonly read: () => Promise<string>;
  readonly write: (text: string) => Promise<void>;
}

/** A card of the settings that is on this host. */
export interface GpuCard {
  readonly fn: PciFunction;
  readonly settings: GpuVfCards;
}

/** What is read of a card: by number, and a clause for each value that is not as wanted. */
export interface SharesFound {
  readonly values: readonly ShareValue[];
  readonly wrong: readonly WrongValue[];
  /** What the kernel has printed, by `key` and the function's number. */
  readonly texts: ReadonlyMap<string, string>;
}

interface WrongValue {
  readonly value: ShareValue;
  /** Completes "The device at <address> ...". */
  readonly reason: string;
  /** The kernel has not shown it: a write could change a correct value. */
  readonly isUnread: boolean;
}

/** The values that the card has and its profile concerns; a clause if its driver has no such. */
export function shareValues(context: DriverContext, card: GpuCard): readonly ShareValue[] | string {
  const { sysfs } = context;
  const { boundDriver = 'no driver', path } = card.fn;
  const partitions = boundDriver === 'gim' ? gimShares(context, card) : undefined;
  if (partitions !== undefined) return partitions;
  if (boundDriver === 'xe' && sysfs.list(`${path}/sriov_admin`)) return xeShares(context, card);
  if (boundDriver === 'i915') return i915Shares(context, card);
  const [key] = Object.keys(card.settings.profile);
  // The driver's own provisioning is all that there is, as with xe before Linux 6.19.
  return key === undefined ? [] : `takes no ${key}: ${boundDriver} has no files for it`;
}

export async function readShares(values: readonly ShareValue[]): Promise<SharesFound> {
  const texts = new Map<string, string>();
  const wrong: WrongValue[] = [];
  for (const value of values) {
    try {
      const text = await value.read();
      texts.set(valueName(value), text);
      const reason = findFault(value, text, texts);
      if (reason !== undefined) wrong.push({ value, reason, isUnread: false });
    } catch (error) {
      // EUCLEAN: the tiles of the card have different values.
      const isUnread = !(error instanceof HardwareError && error.code === 'EUCLEAN');
      const reason = `has an unknown ${shown(value)} (${reasonOf(error)})`.slice(0, 200);
      wrong.push({ value, reason, isUnread });
    }
  }
  return { values, wrong, texts };
}

/** Writes what is wanted, and reads it again: the kernel's drivers may ignore a write. */
export async function writeShares(values: readonly ShareValue[]): Promise<void> {
  for (const value of values) if (value.expected !== undefined) await value.write(value.expected);
  const expected = values.filter((value) => value.expected !== undefined);
  const { wrong } = await readShares(expected);
  if (wrong[0]) throw new Error(`it ${wrong[0].reason} after the write`);
}

export function valueName({ key, number }: ShareValue): string {
  return number === undefined ? key : `${key} ${number}`;
}

function shown({ key, number }: ShareValue): string {
  return number === undefined ? key : `${key} of virtual function ${number}`;
}

function findFault(value: ShareValue, text: string, texts: ReadonlyMap<string, string>) {
  const { key, expected } = value;
  if (expected !== undefined) {
    return isAsExpected(text, expected)
      ? undefined
      : `has ${shown(value)} ${text}, not ${expected}`;
  }
  const first = texts.get(valueName({ ...value, number: 1 }));
  if (text === '0') return `has no ${shown(value)}`;
  return text === first ? undefined : `has ${key} ${text} and ${first} on its virtual functions`;
}

/** Hardware may round a number up: by a page of its tables, not by a share. */
function isAsExpected(text: string, expected: string): boolean {
  if (text === expected) return true;
  if (!/^\d+$/.test(text) || !/^\d+$/.test(expected)) return false;
  const [has, key] = [Number(text), Number(expected)];
  return has >= key && has <= key + key / 8;
}
