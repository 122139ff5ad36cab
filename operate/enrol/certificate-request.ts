// A request for a certificate (PKCS #10, RFC 2986): the host's name and its public key, signed with its
// private one, which so never leaves the machine that made it.

import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import {
  bitString,
  integer,
  name,
  pemOf,
  publicKeyInfo,
  sequence,
  signatureAlgorithm,
  tagged,
} from './der.ts';

/** As PEM. @param key ECDSA on P-256 */
export function certificateRequest(commonName: string, key: KeyObject): string {
  const contents = sequence(
    integer(Buffer.of(0)),
    name(commonName),
    publicKeyInfo(createPublicKey(key)),
    // No attributes.
    tagged(0xa0),
  );
  const signature = bitString(sign('sha256', contents, key));
  return pemOf('CERTIFICATE REQUEST', sequence(contents, signatureAlgorithm, signature));
}
