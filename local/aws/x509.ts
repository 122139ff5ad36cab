// X.509 certificates (RFC 5280) with ECDSA P-256 keys, enough for TLS on one machine. Node can
// sign and read certificates but not create them, and libraries that can are far larger than this
// file. OpenSSL checks each certificate when it is used.

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import {
  bitString,
  integer,
  name,
  objectIdentifier,
  publicKeyInfo,
  sequence,
  signatureAlgorithm,
  tagged,
  toPem,
} from '#core/contracts/identity/der.ts';

interface CertificateRequest {
  readonly commonName: string;
  readonly kind: 'authority' | 'server' | 'client';
  /** DNS names and IPv4 addresses for which the certificate is valid. */
  readonly names?: readonly string[];
  readonly days: number;
  readonly publicKey: KeyObject;
}

export interface Issuer {
  readonly commonName: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export function generateKeyPair() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

/** The certificate as PEM. An authority is its own issuer. */
export function issueCertificate(request: CertificateRequest, issuer: Issuer): string {
  const day = 24 * 60 * 60 * 1000;
  // Valid from one day ago: the clock of a client in a virtual machine may be slow.
  const validity = sequence(time(Date.now() - day), time(Date.now() + request.days * day));
  const contents = sequence(
    tagged(0xa0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(1), randomBytes(15)])),
    signatureAlgorithm,
    name(issuer.commonName),
    validity,
    name(request.commonName),
    publicKeyInfo(request.publicKey),
    tagged(0xa3, sequence(...extensions(request, issuer))),
  );
  const signature = sign('sha256', contents, issuer.privateKey);
  return toPem('CERTIFICATE', sequence(contents, signatureAlgorithm, bitString(signature)));
}

function extensions(request: CertificateRequest, issuer: Issuer): Buffer[] {
  const { kind, names = [] } = request;
  const isAuthority = kind === 'authority';
  // keyCertSign and cRLSign, or digitalSignature; the first octet counts the unused bits.
  const keyUsage = isAuthority ? Buffer.of(1, 0x06) : Buffer.of(7, 0x80);
  const constraints = isAuthority ? [tagged(0x01, Buffer.of(0xff))] : [];
  const list = [
    extension('2.5.29.19', true, sequence(...constraints)),
    extension('2.5.29.15', true, tagged(0x03, keyUsage)),
    extension('2.5.29.14', false, tagged(0x04, keyIdentifier(request.publicKey))),
    extension('2.5.29.35', false, sequence(tagged(0x80, keyIdentifier(issuer.publicKey)))),
  ];
  if (!isAuthority) {
    const usage = kind === 'server' ? '1.3.6.1.5.5.7.3.1' : '1.3.6.1.5.5.7.3.2';
    list.push(extension('2.5.29.37', false, sequence(objectIdentifier(usage))));
  }
  if (names.length > 0) {
    list.push(extension('2.5.29.17', false, sequence(...names.map(generalName))));
  }
  return list;
}

function extension(identifier: string, isCritical: boolean, value: Buffer): Buffer {
  const critical = isCritical ? [tagged(0x01, Buffer.of(0xff))] : [];
  return sequence(objectIdentifier(identifier), ...critical, tagged(0x04, value));
}

function generalName(text: string): Buffer {
  return isIP(text) === 4
    ? tagged(0x87, Buffer.from(text.split('.').map(Number)))
    : tagged(0x82, Buffer.from(text));
}

function keyIdentifier(key: KeyObject): Buffer {
  return createHash('sha1').update(publicKeyInfo(key)).digest();
}

/** UTCTime, which is the form for dates until 2049. */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14);
  return tagged(0x17, Buffer.from(`${digits}Z`));
}
