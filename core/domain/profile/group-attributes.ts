// `accel:attribute:NAME` of a group: a value that the host reports of the device, or the least
// number.

import type { Group } from './device-profile.ts';

export const attributeName = /^attribute:([a-z][a-z0-9_.-]{0,63})$/;
export const attributeValue = /^(>=[0-9]{1,15}|[a-zA-Z0-9_.-]+)$/;

/** Why the attributes of a device do not serve the group; undefined if they do. */
export function unmetAttribute(
  group: Group,
  attributes: Readonly<Record<string, string>>,
): string | undefined {
  for (const [key, value] of Object.entries(group)) {
    const [, name] = attributeName.exec(key.replace(/^accel:/, '')) ?? [];
    if (!key.startsWith('accel:') || name === undefined) continue;
    const held = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
    if (held === undefined) return `no attribute ${name}, which must be ${value}`;
    const isMet = value.startsWith('>=') ? isAtLeast(held, value.slice(2)) : held === value;
    if (!isMet) return `attribute ${name} of ${held}, which must be ${value}`;
  }
  return undefined;
}

/** Text that is not a number is at least nothing. */
function isAtLeast(held: string, least: string): boolean {
  return /^[0-9]{1,15}(\.[0-9]+)?$/.test(held) && Number(held) >= Number(least);
}
