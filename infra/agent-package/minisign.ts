// Signs files as minisign does, so that `minisign -V` verifies them: Ed25519 of the file's
// BLAKE2b-512, and of the signature with its trusted comment.
// https://jedisct1.github.io/minisign/, "Signature format"

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign as signWith,
} from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { PackagingFailed } from './run-tool.ts';

interface SigningKey {
  readonly id: Buffer;
  readonly key: KeyObject;
}

/** Names of algorithm, derivation and checksum; salt and limits of the derivation. */
const at = { derivation: 2, id: 54, seed: 62, public: 94, checksum: 126, end: 158 } as const;
/** PKCS #8 of an Ed25519 key, up to its seed (RFC 8410). */
const pkcs8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** @throws PackagingFailed unless the file is a secret key of `minisign -G -W`, for its owner */
export function readSigningKey(file: string): SigningKey {
  const refused = (fault: string) => new PackagingFailed(`--sign-key ${file} ${fault}.`);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw refused(`cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  if ((statSync(file).mode & 0o077) !== 0) {
    throw refused('must be for its owner alone: chmod 600');
  }
  const bytes = Buffer.from(text.split('\n')[1] ?? '', 'base64');
  if (bytes.length !== at.end || bytes.toString('latin1', 0, 2) !== 'Ed') {
    throw refused('is not a secret key of minisign');
  }
  if (bytes.readUInt16BE(at.derivation) !== 0) {
    throw refused('has a password; make a key without one: minisign -G -W');
  }
  const seed = bytes.subarray(at.seed, at.public);
  const key = createPrivateKey({
    key: Buffer.concat([pkcs8, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  const isWhole = Buffer.from(x, 'base64url').equals(bytes.subarray(at.public, at.checksum));
  if (!isWhole) throw refused('is not a secret key of minisign: its two halves do not match');
  return { id: bytes.subarray(at.id, at.seed), key };
}

/** @returns the text of the file's `.minisig`; the same for the same file, key and time */
export function signatureOf(file: string, { id, key }: SigningKey, timestamp: number): string {
  const digest = createHash('blake2b512').update(readFileSync(file)).digest();
  const signature = signWith(null, digest, key);
  // The second signature covers it, so that a file cannot pass for another one.
  const trusted = `timestamp:${timestamp}\tfile:${basename(file)}\thashed`;
  const whole = signWith(null, Buffer.concat([signature, Buffer.from(trusted)]), key);
  return [
    'untrusted comment: signature of the packages of cyborg-agent',
    Buffer.concat([Buffer.from('ED'), id, signature]).toString('base64'),
    `trusted comment: ${trusted}`,
    whole.toString('base64'),
    '',
  ].join('\n');
}
