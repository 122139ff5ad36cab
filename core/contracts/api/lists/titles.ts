// What people read for a field of an answer: a column of cyborg-ops, a property in the console. A
// field without a title does not compile; lists.ts has those of lists. Without zod at run time.

import type * as z from 'zod';
import type { hostDevice } from '#core/contracts/api/operator/hosts.ts';
import type { notOffered } from '#core/shapes/host.ts';

/** Its title, or a column of cyborg-ops with its place. */
export type Title =
  | string
  | {
      readonly title: string;
      readonly isWhole?: boolean;
      readonly isOptional?: boolean;
      readonly isApart?: boolean;
      readonly isWide?: boolean;
    };

export type Titles<Answer extends z.ZodObject> = Readonly<
  Record<Exclude<keyof z.output<Answer>, 'links'>, Title>
>;

/** A column that is never cut, so that a uuid can be copied and a next step be read. */
export const whole = <Title extends string>(title: Title) => ({ title, isWhole: true });
/** A column that is left out where no row has a value. */
export const optional = <Title extends string>(title: Title) => ({ title, isOptional: true });
/** A column of a table of cyborg-ops with `--wide` only; without it most fit 100 letters. */
export const wide = <Title extends string>(title: Title) => ({
  title,
  isOptional: true,
  isWide: true,
});
/** Only where one row is shown. */
export const apart = <Title extends string>(title: Title) => ({ title, isApart: true });

export const hostDeviceTitles = {
  uuid: { title: 'device', isWhole: true },
  address: 'address',
  type: 'type',
  driver: 'driver',
  model: 'model',
  status: 'status',
  reason: 'reason',
  handles: 'handles',
  health: 'health',
  grants: { title: 'programmed by', isOptional: true },
  holds: { title: 'on hold', isOptional: true },
  identity: { title: 'serial', isOptional: true, isWide: true },
} as const satisfies Titles<typeof hostDevice>;

export const notOfferedTitles = {
  address: 'not offered',
  driver: 'driver',
  reason: 'reason',
} as const satisfies Titles<typeof notOffered>;

/** `It resets itself until 2030-12-01T06:00:00Z`, for each hold of a device. */
export function holdTexts(
  holds: readonly { reason?: string | undefined; until?: string | null | undefined }[],
): string[] {
  return holds.map(({ reason = '', until }) => (until ? `${reason} until ${until}` : reason));
}

export function titleOf(title: Title): string {
  return typeof title === 'string' ? title : title.title;
}

export function without<Name extends string, Left extends Name>(
  titles: Readonly<Record<Name, Title>>,
  ...names: readonly Left[]
): Readonly<Record<Exclude<Name, Left>, Title>> {
  const others = Object.entries(titles).filter(([name]) => !names.includes(name as Left));
  return Object.fromEntries(others) as Record<Exclude<Name, Left>, Title>;
}

const units = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const;

/** `2 h 5 min`; undefined unless both times are known. */
export function durationText(
  from: string | null | undefined,
  to: string | null | undefined,
): string | undefined {
  if (!from || !to) return undefined;
  let left = Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1000));
  if (Number.isNaN(left)) return undefined;
  const parts: string[] = [];
  for (const [unit, size] of units) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0 || parts.length === 1) parts.push(`${count} ${unit}`);
    if (parts.length === 2) break;
  }
  return parts.filter((part) => !part.startsWith('0 ')).join(' ') || '0 s';
}
