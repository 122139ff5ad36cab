// The digest by which the agent and the control plane compare descriptions of a device.

import { createHash } from 'node:crypto';
import type { ReportedDevice } from './inventory-report.ts';

/** SHA-256 of the canonical JSON (keys sorted, `undefined` left out), first 16 hex digits. */
export function computeDigest(device: ReportedDevice): string {
  return createHash('sha256').update(canonicalJson(device)).digest('hex').slice(0, 16);
}

/** JSON whose text does not depend on the insertion order of keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, nested: unknown) =>
    nested !== null && typeof nested === 'object' && !Array.isArray(nested)
      ? Object.fromEntries(Object.entries(nested).sort(([a], [b]) => (a < b ? -1 : 1)))
      : nested,
  );
}
