// Keys of minisign, and its check of a signature, written from its description of the formats.
// https://jedisct1.github.io/minisign/

import { createHash, createPublicKey, generateKeyPairSync, randomBytes, verify } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

interface KeyGiven {
  readonly mode?: number;
  /** `Sc` for a key with a password. */
  readonly derivation?: string;
  /** Bytes that are missing at the end. */
  readonly cut?: number;
  /** The public half is another one. */
  readonly damaged?: boolean;
}

/** A key as `minisign -G -W` writes it. */
export function writeMinisignKey(
  file: string,
  { mode = 0o600, derivation = '\0\0', cut = 0, damaged = false }: KeyGiven = {},
): { readonly file: string; readonly public: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const id = randomBytes(8);
  const { d = '' } = privateKey.export({ format: 'jwk' });
  const { x = '' } = publicKey.export({ format: 'jwk' });
  const half = damaged ? randomBytes(32) : Buffer.from(x, 'base64url');
  const secret = Buffer.concat([
    ...[Buffer.from(`Ed${derivation}B2`, 'latin1'), Buffer.alloc(48), id],
    ...[Buffer.from(d, 'base64url'), half, Buffer.alloc(32)],
  ]);
  const kept = secret.subarray(0, secret.length - cut).toString('base64');
  writeFileSync(file, `untrusted comment: minisign encrypted secret key\n${kept}\n`, { mode });
  const shown = Buffer.concat([Buffer.from('Ed'), id, Buffer.from(x, 'base64url')]);
  return { file, public: shown.toString('base64') };
}

/** What `minisign -V` would refuse; undefined for a signature that is valid. */
export function faultOfSignature(file: string, publicKey: string): string | undefined {
  const given = Buffer.from(publicKey, 'base64');
  const key = createPublicKey({
    format: 'jwk',
    key: { kty: 'OKP', crv: 'Ed25519', x: given.subarray(10).toString('base64url') },
  });
  const [, first = '', trusted = '', second = ''] = readFileSync(`${file}.minisig`, 'utf8').split(
    '\n',
  );
  const bytes = Buffer.from(first, 'base64');
  const signature = bytes.subarray(10);
  if (bytes.toString('latin1', 0, 2) !== 'ED' || bytes.length !== 74) return 'another form';
  if (!bytes.subarray(2, 10).equals(given.subarray(2, 10))) return 'another key';
  const digest = createHash('blake2b512').update(readFileSync(file)).digest();
  if (!verify(null, digest, key, signature)) return 'another file';
  const comment = Buffer.from(trusted.replace(/^trusted comment: /, ''));
  const whole = Buffer.concat([signature, comment]);
  return verify(null, whole, key, Buffer.from(second, 'base64')) ? undefined : 'another comment';
}
