// What was offered at an address, kept over boots: another card may sit there after one, or a
// disk of the host. An entry of the settings that names ids says itself what it is for.

import type { Confirmations } from '#agent/state/confirmations.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';

/** A card as it was offered. */
export interface OfferedCard {
  /** Ids, class and subsystem, as `printIdentity` prints them. */
  readonly identity: string;
  /** The serial number, if it shows one. */
  readonly serial?: string | undefined;
  /** ISO 8601. */
  readonly since: string;
}

/** `10de:26b9 030200 10de:16a1` */
export function printIdentity(fn: PciFunction): string {
  return `${fn.vendorId}:${fn.productId} ${fn.classCode} ${fn.subsystemId}`;
}

/** Why another card must not be offered or bound; a clause after "The device at <address>". */
export function identityRefusal(
  fn: PciFunction,
  before: OfferedCard | undefined,
): string | undefined {
  const now = printIdentity(fn);
  if (!before || before.identity === now) return undefined;
  const [ids = '', classCode = '', subsystem = ''] = before.identity.split(' ');
  const isSameModel = now.startsWith(`${ids} `);
  const was = isSameModel ? `${ids} of class ${classCode}, subsystem ${subsystem},` : ids;
  const is = `${fn.vendorId}:${fn.productId} of class ${fn.classCode}`;
  const subsystemNow = isSameModel ? `, subsystem ${fn.subsystemId}` : '';
  return `is ${is}${subsystemNow}, and ${was} was offered here: ${advice(fn.address)}`;
}

/** Why another card of the same model must not be offered, if its serial number differs. */
export function serialRefusal(
  fn: PciFunction,
  before: OfferedCard | undefined,
  serial: string | undefined,
): string | undefined {
  const isOther = before?.serial !== undefined && serial !== undefined && before.serial !== serial;
  if (!isOther) return undefined;
  return (
    `has the serial number ${serial}, and the one with ${before.serial} was offered here: ` +
    advice(fn.address)
  );
}

/** Whether an operator has confirmed the card as it is now, after another one was offered. */
export function isConfirmed(
  fn: PciFunction,
  before: OfferedCard | undefined,
  confirmations: Confirmations,
): boolean {
  const confirmed = confirmations[fn.address];
  return (
    confirmed?.identity === printIdentity(fn) &&
    Date.parse(confirmed.at) >= Date.parse(before?.since ?? '')
  );
}

function advice(address: string): string {
  return `confirm it by cyborg-agent confirm ${address}, or name its ids in its entry`;
}
