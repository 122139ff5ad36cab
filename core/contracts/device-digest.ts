// The digest by which agent and control plane tell whether they mean the same device.

import { createHash } from 'node:crypto';
import type { ReportedDevice } from './inventory-report.ts';

/** SHA-256 of the canonical JSON (keys sorted, `undefined` left out), first 16 hex digits. */
export function digestOf(device: ReportedDevice): string {
  return createHash('sha256').update(canonicalJson(device)).digest('hex').slice(0, 16);
}

/** JSON whose text does not depend on the order in which an object's keys were set. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, nested: unknown) =>
    nested !== null && typeof nested === 'object' && !Array.isArray(nested)
      ? Object.fromEntries(Object.entries(nested).sort(([a], [b]) => (a < b ? -1 : 1)))
      : nested,
  );
}
