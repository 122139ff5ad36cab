// Identifiers: uuids that are derived from what they name, so that the same object always gets the
// same uuid.

import { createHash } from 'node:crypto';
import type { ProviderUuid } from '#core/shapes/vocabulary/ids.ts';
import { integerId } from './integer-id.ts';
import { withHyphens } from './uuid-form.ts';

export type * from '#core/shapes/vocabulary/ids.ts';

// RFC 9562 appendix A: the name space for domain names, which Cyborg uses for provider uuids.
const dnsNamespace = '6ba7b810-9dad-11d1-80b4-00c04fd430c8';
// A random uuid of this project; our own derived uuids are named under it.
const ownNamespace = 'b3f0c1de-64f4-4a3e-9a52-2f0d6c1f7e55';

/**
 * The resource provider's uuid, as Cyborg derives it: uuid3 of its name in the DNS name space.
 * An operator who moves from Cyborg thus keeps the providers (and their allocations).
 */
export function providerUuid(name: string): ProviderUuid {
  return namedUuid('md5', 3, dnsNamespace, name) as ProviderUuid;
}

/** A uuid derived from what it names, e.g. `('device', 'cmp1', '0000:3b:00.0')`. */
export function derivedUuid(...parts: [kind: string, ...names: string[]]): string {
  return namedUuid('sha1', 5, ownNamespace, parts.join('\n'));
}

function namedUuid(algorithm: 'md5' | 'sha1', version: 3 | 5, namespace: string, name: string) {
  const hash = createHash(algorithm)
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(name)
    .digest();
  return formatUuid(hash.subarray(0, 16), version);
}

/**
 * A uuid whose order is the order of creation (RFC 9562, version 7). ARQs get these, so that one
 * index serves both sort keys of the API.
 *
 * @param milliseconds time of creation
 * @param random at least 10 random bytes
 */
export function timeOrderedUuid(milliseconds: number, random: Uint8Array): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(milliseconds, 0, 6);
  bytes.set(random.subarray(0, 10), 6);
  return formatUuid(bytes, 7);
}

export function isTimeOrdered(uuid: string): boolean {
  return uuid[14] === '7';
}

/** When a time-ordered uuid was made; milliseconds since 1970. */
export function timeOfUuid(uuid: string): number {
  return integerId(uuid);
}

function formatUuid(bytes: Buffer, version: number): string {
  const marked = Buffer.from(bytes);
  marked[6] = ((marked[6] ?? 0) & 0x0f) | (version << 4);
  marked[8] = ((marked[8] ?? 0) & 0x3f) | 0x80;
  return withHyphens(marked.toString('hex'));
}
