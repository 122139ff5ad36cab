// A certificate request (PKCS #10, RFC 2986): the host's name and its public key, signed with its
// private key. The private key never leaves the machine that created it.

import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto';
import {
  bitString,
  integer,
  name,
  publicKeyInfo,
  sequence,
  signatureAlgorithm,
  tagged,
  toPem,
} from './der.ts';

/** Returns PEM. @param key ECDSA on P-256 */
export function certificateRequest(commonName: string, key: KeyObject): string {
  const contents = sequence(
    integer(Buffer.of(0)),
    name(commonName),
    publicKeyInfo(createPublicKey(key)),
    // Attributes: empty.
    tagged(0xa0),
  );
  const signature = bitString(sign('sha256', contents, key));
  return toPem('CERTIFICATE REQUEST', sequence(contents, signatureAlgorithm, signature));
}

/** SHA-256 of a public key, by which host and operator can compare a request. */
export function keyFingerprint(publicKey: KeyObject): string {
  return createHash('sha256').update(publicKeyInfo(publicKey)).digest('hex');
}
