import { execFileSync, spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openCertificates } from '#local/aws/certificates.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const directory = directoryPerTest();
const read = (file: string) => new X509Certificate(readFileSync(file));

it('issues a certificate whose common name is the thing, signed by the authority', () => {
  const thing = `${'n'.repeat(64)}:example:org`;
  const { certificateFile, authorityFile } =
    openCertificates(directory).issueHostCertificate(thing);
  const certificate = read(certificateFile);
  const authority = read(authorityFile);
  expect(certificate.subject).toBe(`CN=${thing}`);
  expect(certificate.checkIssued(authority)).toBe(true);
  expect(certificate.verify(authority.publicKey)).toBe(true);
  expect(certificate.ca).toBe(false);
  expect(authority.ca).toBe(true);
});

it('keeps the private keys readable for their owner only', () => {
  const certificates = openCertificates(directory);
  const keys = [certificates.server.keyFile, certificates.issueHostCertificate('node-1').keyFile];
  for (const file of [...keys, join(directory, 'authority-key.pem')]) {
    expect(statSync(file).mode & 0o777).toBe(0o600);
  }
});

it('returns the same certificates at the next start', () => {
  const first = openCertificates(directory).issueHostCertificate('node-1');
  const before = [first.certificateFile, first.authorityFile].map((file) =>
    readFileSync(file, 'utf8'),
  );
  const again = openCertificates(directory).issueHostCertificate('node-1');
  expect(
    [again.certificateFile, again.authorityFile].map((file) => readFileSync(file, 'utf8')),
  ).toEqual(before);
});

it('replaces a certificate with a lost key, another authority, or a missing name', () => {
  const { server, issueHostCertificate } = openCertificates(directory);
  const host = issueHostCertificate('node-1');
  const fingerprints = () =>
    [server, host].map((files) => read(files.certificateFile).fingerprint256);

  const first = fingerprints();
  expect(read(server.certificateFile).checkHost('broker.example')).toBeUndefined();
  openCertificates(directory, ['broker.example']);
  expect(read(server.certificateFile).checkHost('broker.example')).toBe('broker.example');
  expect(read(server.certificateFile).checkIP('127.0.0.1')).toBe('127.0.0.1');
  expect(fingerprints()[1]).toBe(first[1]);

  writeFileSync(join(directory, 'authority-key.pem'), 'lost');
  openCertificates(directory).issueHostCertificate('node-1');
  expect(fingerprints()[1]).not.toBe(first[1]);
});

it('refuses a thing whose name would leave the directory', () => {
  expect(() => openCertificates(directory).issueHostCertificate('../../x')).toThrow(
    'invalid thing name',
  );
});

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

it.runIf(hasOpenssl)('passes the strict checks of OpenSSL', () => {
  const certificates = openCertificates(directory);
  const { certificateFile, authorityFile } = certificates.issueHostCertificate('node-1');
  const verify = (purpose: string, file: string) =>
    execFileSync(
      'openssl',
      ['verify', '-x509_strict', '-purpose', purpose, '-CAfile', authorityFile, file],
      { encoding: 'utf8' },
    );
  expect(verify('sslclient', certificateFile)).toContain('OK');
  expect(verify('sslserver', certificates.server.certificateFile)).toContain('OK');
});
