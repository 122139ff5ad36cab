// The certificates of one local system: an authority, one certificate for the broker, and one per
// host, whose common name is the thing name of the host. They are files and are used again at the
// next start, so that an agent started by hand keeps working.

import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import { generateKeyPair, type Issuer, issueCertificate } from './x509.ts';

const authorityName = 'cyborg local authority';
const authorityDays = 3650;
/** The longest validity that some TLS clients accept. */
const certificateDays = 398;
/** A certificate that ends sooner is replaced at start. */
const renewDays = 30;

/** Paths, as in the configuration of an agent. */
export interface CertificateFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly authorityFile: string;
}

export interface Certificates {
  /** Valid for 127.0.0.1, localhost, and further names. */
  readonly server: CertificateFiles;
  /** Returns the certificate of the thing, and renews it if it ends soon. */
  issueHostCertificate(thing: string): CertificateFiles;
  /** Signs a certificate for a client with its own key; PEM. */
  sign(commonName: string, publicKey: KeyObject): string;
}

/** @param names further names and addresses at which agents reach the broker */
export function openCertificates(directory: string, names: readonly string[] = []): Certificates {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const authorityFile = join(directory, 'authority.pem');
  const authority = openAuthority(authorityFile, join(directory, 'authority-key.pem'));

  function issue(
    path: string,
    kind: 'server' | 'client',
    commonName: string,
    forNames: readonly string[] = [],
  ): CertificateFiles {
    const files = {
      certificateFile: `${path}.pem`,
      keyFile: `${path}-key.pem`,
      authorityFile,
    };
    const stored = readCertificate(files.certificateFile, files.keyFile);
    const isGood =
      stored?.verify(authority.publicKey) && forNames.every((name) => covers(stored, name));
    if (!isGood) {
      const { publicKey, privateKey } = generateKeyPair();
      const request = { commonName, kind, names: forNames, days: certificateDays, publicKey };
      writeKey(files.keyFile, privateKey);
      write(files.certificateFile, issueCertificate(request, authority));
    }
    return files;
  }

  return {
    server: issue(join(directory, 'server'), 'server', 'cyborg local broker', [
      'localhost',
      '127.0.0.1',
      ...names,
    ]),
    issueHostCertificate: (thing) => {
      // The name becomes part of a path.
      if (!/^[a-zA-Z0-9:_-]{1,128}$/.test(thing)) throw new Error(`invalid thing name: ${thing}`);
      return issue(join(directory, 'hosts', thing), 'client', thing);
    },
    sign: (commonName, publicKey) =>
      issueCertificate({ commonName, kind: 'client', days: certificateDays, publicKey }, authority),
  };
}

function openAuthority(certificateFile: string, keyFile: string): Issuer {
  const stored = readCertificate(certificateFile, keyFile);
  if (stored !== undefined) {
    const privateKey = createPrivateKey(readFileSync(keyFile));
    return { commonName: authorityName, privateKey, publicKey: createPublicKey(privateKey) };
  }
  const issuer = { commonName: authorityName, ...generateKeyPair() };
  const { publicKey } = issuer;
  const request = { commonName: authorityName, days: authorityDays, publicKey };
  writeKey(keyFile, issuer.privateKey);
  write(certificateFile, issueCertificate({ ...request, kind: 'authority' }, issuer));
  return issuer;
}

/** Undefined unless the certificate and its key exist and the certificate does not end soon. */
function readCertificate(certificateFile: string, keyFile: string): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(readFileSync(certificateFile));
    const key = createPrivateKey(readFileSync(keyFile));
    const daysLeft = (Date.parse(certificate.validTo) - Date.now()) / (24 * 60 * 60 * 1000);
    return certificate.checkPrivateKey(key) && daysLeft > renewDays ? certificate : undefined;
  } catch {
    return undefined;
  }
}

function covers(certificate: X509Certificate, name: string): boolean {
  const match = isIP(name) > 0 ? certificate.checkIP(name) : certificate.checkHost(name);
  return match !== undefined;
}

function writeKey(path: string, key: KeyObject): void {
  write(path, key.export({ type: 'pkcs8', format: 'pem' }).toString(), 0o600);
}

function write(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const next = `${path}.next`;
  writeFileSync(next, text, { mode });
  renameSync(next, path);
}
