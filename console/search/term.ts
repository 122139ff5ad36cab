// What a text of the search may be: a part of a name, an id, or the address or serial number of a
// device.

export interface Term {
  /** In lower case. */
  readonly text: string;
  readonly uuid?: string;
  /** Keystone's ids of projects and users have this form. */
  readonly keystoneId?: string;
  /** A PCI address, or its end. */
  readonly address?: string;
  /** A part of a serial number. */
  readonly serial?: string;
  /** A part of a host's name, before the address or serial number. */
  readonly host?: string;
}

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const addressForm = /^([0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}(\.[0-7])?$/;

export function readTerm(typed: string): Term {
  const text = typed.trim().toLowerCase();
  if (uuidForm.test(text)) return { text, uuid: text, keystoneId: text };
  if (/^[0-9a-f]{32}$/.test(text)) return { text, keystoneId: text };
  const words = text.split(/\s+/);
  const last = words.at(-1) ?? '';
  const host = words.slice(0, -1).join(' ');
  const [, serial] = /^serial:(.+)$/.exec(last) ?? [];
  if (serial !== undefined) return { text, serial, host };
  return addressForm.test(last) ? { text, address: last, host } : { text };
}
