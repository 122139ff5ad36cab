// Reads a certificate request (PKCS #10): the subject and the key. It reads only subjects with a
// common name alone, as operate/enrol/ writes them.

import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { JobsError } from '#local/aws/iot-jobs/errors.ts';

interface ReadRequest {
  readonly commonName: string;
  readonly publicKey: KeyObject;
}

/** @throws JobsError if the request is not signed with its own key */
export function readRequest(pem: string): ReadRequest {
  try {
    const body = /-----BEGIN CERTIFICATE REQUEST-----([^-]+)-----END/.exec(pem)?.[1] ?? '';
    const [contents, , signature] = partsOf(partsOf(Buffer.from(body, 'base64'))[0]?.value);
    const [, subject, keyInfo] = partsOf(contents?.value);
    const publicKey = createPublicKey({
      key: keyInfo?.whole ?? Buffer.of(),
      format: 'der',
      type: 'spki',
    });
    // A bit string begins with the number of its unused bits.
    const bits = signature?.value.subarray(1) ?? Buffer.of();
    if (!verify('sha256', contents?.whole ?? Buffer.of(), publicKey, bits)) {
      throw new Error('the signature does not match its key');
    }
    const [attribute] = partsOf(partsOf(partsOf(subject?.value)[0]?.value)[0]?.value).slice(1);
    return { commonName: attribute?.value.toString('utf8') ?? '', publicKey };
  } catch (error) {
    throw new JobsError('InvalidRequest', `The request is not valid: ${(error as Error).message}`);
  }
}

interface Part {
  /** The part with its tag and length. */
  readonly whole: Buffer;
  readonly value: Buffer;
}

/** Splits DER into the parts that follow each other. */
function partsOf(der: Buffer = Buffer.of()): Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < der.length; ) {
    const short = der.readUInt8(at + 1);
    const octets = short < 0x80 ? 0 : short & 0x7f;
    const length = octets === 0 ? short : der.readUIntBE(at + 2, octets);
    const start = at + 2 + octets;
    if (start + length > der.length) throw new Error('the request is truncated');
    parts.push({
      whole: der.subarray(at, start + length),
      value: der.subarray(start, start + length),
    });
    at = start + length;
  }
  return parts;
}
