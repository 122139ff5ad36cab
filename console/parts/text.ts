// Short forms of what the API says.

import { type Title, titleOf } from '#core/contracts/api/lists/titles.ts';

export function shortId(id: string): string {
  return id.length > 12 ? id.slice(0, 8) : id;
}

export function isTime(name: string): boolean {
  return /^(.*_)?(at|since)$/.test(name);
}

/** `Last report, UTC` */
export function titleText(name: string, title: Title): string {
  const text = titleOf(title);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${isTime(name) ? ', UTC' : ''}`;
}

/** `claimed 1, free 15` */
export function countsText(counts: Readonly<Record<string, number | undefined>>): string {
  const parts = Object.entries(counts).filter(([, count]) => count !== undefined && count > 0);
  return parts.length === 0 ? '-' : parts.map(([name, count]) => `${name} ${count}`).join(', ');
}

/** `claimed (3), disabled (1)` */
export function reasonsText(
  stops: readonly { readonly reason: string; readonly count: number }[],
): string {
  return stops.map(({ reason, count }) => `${reason} (${count})`).join(', ');
}

/** @param names keys of a profile's groups: `trait:CUSTOM_A`, `resources:PGPU` */
export function missingText(names: readonly string[]): string {
  return `No device of the cloud has ${names.join(', ')}.`;
}

export interface IncidentPage {
  readonly incidents: readonly unknown[];
  readonly incidents_links?: unknown;
}

/** With a plus where the answer has another page. Empty for none, also for none so far. */
export function countText({ incidents, incidents_links: more }: IncidentPage): string {
  if (incidents.length === 0) return '';
  return `${incidents.length}${more ? '+' : ''}`;
}

/** A name that a user chose, without what moves or hides the text beside it. */
export function harmlessText(text: string): string {
  return text.replaceAll(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, '').trim();
}
