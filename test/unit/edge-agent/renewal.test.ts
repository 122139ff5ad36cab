import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isDue } from '#agent/identity/renewal.ts';
import { issueCertificate } from '#local/aws/x509.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** A certificate that began yesterday. */
function aCertificate(days: number) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = { commonName: 'authority', publicKey, privateKey };
  const request = { commonName: 'test:cmp1', kind: 'client', days, publicKey } as const;
  return { identity: { key: '', certificate: issueCertificate(request, issuer) } };
}

describe('a certificate is renewed', () => {
  it('never without the setting', () => {
    expect(isDue(aCertificate(1), undefined, Date.now() + 365 * dayMs)).toBe(false);
  });

  it('after the days of the setting', () => {
    const certificate = aCertificate(8000);
    expect(isDue(certificate, 365, Date.now() + 363.9 * dayMs)).toBe(false);
    expect(isDue(certificate, 365, Date.now() + 364.1 * dayMs)).toBe(true);
  });

  it('after the days since its last renewal, if AWS dates it back', () => {
    const renewed = { ...aCertificate(8000), renewedAtMs: Date.now() };
    expect(isDue(renewed, 1, Date.now() + 0.9 * dayMs)).toBe(false);
    expect(isDue(renewed, 1, Date.now() + 1.1 * dayMs)).toBe(true);
  });

  it('with a third of its time left, however young the setting lets it be', () => {
    const certificate = aCertificate(89);
    expect(isDue(certificate, 3650, Date.now() + 58 * dayMs)).toBe(false);
    expect(isDue(certificate, 3650, Date.now() + 60 * dayMs)).toBe(true);
  });
});
