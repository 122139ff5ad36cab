// Shorter forms of texts in rows that are stored by the million: the bytes of uuids and of
// Keystone's ids, and times as numbers. A text has one form, so a filter can compare it.

import { withHyphens } from '#core/domain/uuid-form.ts';

type Packed = string | number | Uint8Array;

/** What may stand before an id: nothing, as in an actor, as in a request's id. */
const prefixes = ['', 'user:', 'req-'] as const;
const hexadecimal = /^[0-9a-f]{32}$/;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** Added to the place of the prefix if the id has hyphens. */
const hyphened = 16;

export function pack(text: string): Packed {
  if (time.test(text)) {
    const ms = Date.parse(text);
    return Number.isNaN(ms) || new Date(ms).toISOString() !== text ? text : ms;
  }
  // The last prefix that fits: the first is empty.
  const place = prefixes.findLastIndex((prefix) => text.startsWith(prefix));
  const id = text.slice(prefixes[place]?.length);
  const isUuid = uuid.test(id);
  if (!isUuid && !hexadecimal.test(id)) return text;
  const bytes = Buffer.from(id.replaceAll('-', ''), 'hex');
  return new Uint8Array([isUuid ? place + hyphened : place, ...bytes]);
}

/** The text; a value of another type than {@link pack} gives stays as it is. */
export function unpack(value: unknown): unknown {
  if (typeof value === 'number') return new Date(value).toISOString();
  if (!(value instanceof Uint8Array)) return value;
  const [form = 0, ...bytes] = value;
  const id = Buffer.from(bytes).toString('hex');
  return `${prefixes[form % hyphened]}${form < hyphened ? id : withHyphens(id)}`;
}
