// DER, the encoding of X.509: tag, length and value. Node reads certificates and requests but
// cannot create them.

import type { KeyObject } from 'node:crypto';

export function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const value = Buffer.concat(parts);
  const { length } = value;
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), value]);
  const octets = length < 0x100 ? [length] : [length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, 0x80 | octets.length, ...octets), value]);
}

export function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, ...parts);
}

export function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes);
}

export function bitString(bytes: Buffer): Buffer {
  return tagged(0x03, Buffer.of(0), bytes);
}

export function objectIdentifier(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const octets = [40 * first + second];
  for (const part of rest) {
    const groups = [part & 0x7f];
    for (let left = part >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80);
    octets.push(...groups);
  }
  return tagged(0x06, Buffer.from(octets));
}

/** ecdsa-with-SHA256 */
export const signatureAlgorithm = sequence(objectIdentifier('1.2.840.10045.4.3.2'));

export function publicKeyInfo(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' });
}

/** A name with a common name only, as UTF-8. */
export function name(commonName: string): Buffer {
  const attribute = sequence(objectIdentifier('2.5.4.3'), tagged(0x0c, Buffer.from(commonName)));
  return sequence(tagged(0x31, attribute));
}

export function toPem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}

interface Part {
  /** The part with its tag and length. */
  readonly whole: Buffer;
  readonly value: Buffer;
}

/** Splits DER into the parts that follow each other. */
export function readParts(der: Buffer = Buffer.of()): Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < der.length; ) {
    const short = der.readUInt8(at + 1);
    const octets = short < 0x80 ? 0 : short & 0x7f;
    const length = octets === 0 ? short : der.readUIntBE(at + 2, octets);
    const start = at + 2 + octets;
    if (start + length > der.length) throw new Error('a part is truncated');
    parts.push({
      whole: der.subarray(at, start + length),
      value: der.subarray(start, start + length),
    });
    at = start + length;
  }
  return parts;
}
