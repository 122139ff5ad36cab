// Provisioned concurrency that changes: by hours of the week, or by use. AWS bills each execution
// for as long as it is provisioned, used or not.
// https://docs.aws.amazon.com/lambda/latest/dg/provisioned-concurrency.html

import * as z from 'zod';

/** Executions that are started before they are called. */
export type Provisioned = number | ProvisionedByHours | ProvisionedByUse;

/** `max` in these hours, and `min` otherwise. */
export interface ProvisionedByHours {
  readonly min: number;
  readonly max: number;
  /** Days, hours and time zone: `MON-FRI 07:00-19:00 Europe/Berlin`. */
  readonly hours: string;
}

/** From `min` to `max`, so that calls use this part of them. */
export interface ProvisionedByUse {
  readonly min: number;
  readonly max: number;
  /** Per cent. */
  readonly utilization: number;
}

export interface Hours {
  readonly days: string;
  readonly from: readonly [hour: string, minute: string];
  readonly to: readonly [hour: string, minute: string];
  readonly timeZone: string;
}

const count = (least: number) => z.number().int().min(least);

const schema = z.union([
  count(1),
  z
    .strictObject({ min: count(0), max: count(1), hours: z.string().refine(parseHours) })
    .refine(({ min, max }) => min < max),
  // Without an execution there is no use to measure; AWS takes a target from 10 to 90 %.
  z
    .strictObject({ min: count(1), max: count(1), utilization: z.number().min(10).max(90) })
    .refine(({ min, max }) => min < max),
]);

export function faultOfProvisioned(name: string, value: unknown): string | undefined {
  if (schema.safeParse(value).success) return undefined;
  return (
    `${name} must be an integer from 1, or {"min", "max"} with either "hours", such as ` +
    '"MON-FRI 07:00-19:00 Europe/Berlin" within a day, or "utilization" from 10 to 90 per cent; ' +
    'min is below max, and from 1 with utilization'
  );
}

/** AWS counts days from Sunday; a range ends at the last of them. */
const days = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const time = '([01]\\d|2[0-3]):([0-5]\\d)';
const hoursPattern = new RegExp(`^(\\w{3})(-\\w{3})? ${time}-${time} ([A-Za-z]\\S*)$`);

export function parseHours(text: string): Hours | undefined {
  const [, first = '', range = '', ...others] = hoursPattern.exec(text) ?? [];
  const [fromHour = '', fromMinute = '', toHour = '', toMinute = '', timeZone = ''] = others;
  const [begin, end] = [days.indexOf(first), days.indexOf(range.slice(1) || first)];
  if (begin < 0 || end < begin || !isTimeZone(timeZone)) return undefined;
  if (`${fromHour}${fromMinute}` >= `${toHour}${toMinute}`) return undefined;
  return {
    days: `${first}${range}`,
    from: [fromHour, fromMinute],
    to: [toHour, toMinute],
    timeZone,
  };
}

function isTimeZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return true;
  } catch {
    return false;
  }
}

/** The most that are provisioned at a time, which the quota must allow. */
export function mostOf(provisioned: Provisioned): number {
  return typeof provisioned === 'number' ? provisioned : provisioned.max;
}
