// Times as text.

/** `2026-11-23 01:32:21`, UTC. */
export function timeText(at: string | number): string {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return String(at);
  return time.toISOString().slice(0, 19).replace('T', ' ');
}

/** `01:32:21`, UTC. */
export function clockText(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 19);
}

export const dayMs = 24 * 60 * 60 * 1000;

/** The API's ranges end before their end: the last day of a form belongs to it. */
export function dayAfter(day: string): string {
  const at = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(at) ? day : new Date(at + dayMs).toISOString().slice(0, 10);
}

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** `3 minutes ago`; also of a time that lies ahead by a difference of clocks. */
export function ageText(ageMs: number): string {
  const seconds = Math.max(0, Math.floor(ageMs / 1000));
  const [unit, size] = units.find(([, each]) => seconds >= each) ?? (['second', 1] as const);
  return `${counted(Math.floor(seconds / size), unit)} ago`;
}

/** `1 device`, `2,000 devices`. */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${numberText(count)} ${count === 1 ? singular : plural}`;
}

const numbers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
const smallNumbers = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 2 });

/** With one decimal place; below one with two digits, so that little is not shown as nothing. */
export function numberText(value: number): string {
  return (Math.abs(value) < 1 ? smallNumbers : numbers).format(value);
}
