// A certificate request that a host has made, so that its private key never leaves the host.

import type { KeyObject } from 'node:crypto';
import { RequestInvalid, readRequest } from '#core/contracts/identity/read-request.ts';
import { EnrolmentRefused } from './enrol-host.ts';

export interface HostRequest {
  readonly pem: string;
  readonly publicKey: KeyObject;
}

/** @throws EnrolmentRefused */
export function readHostRequest(pem: string, thing: string): HostRequest {
  const { commonName, publicKey } = readOrRefuse(pem);
  if (commonName !== thing) {
    throw new EnrolmentRefused(`The request is of ${printable(commonName)}, not of ${thing}.`);
  }
  if (!isStrong(publicKey)) {
    throw new EnrolmentRefused(
      "The request's key must be ECDSA on P-256 or P-384, or RSA of 2048 bits or more.",
    );
  }
  return { pem, publicKey };
}

function readOrRefuse(pem: string): ReturnType<typeof readRequest> {
  try {
    return readRequest(pem);
  } catch (error) {
    if (!(error instanceof RequestInvalid)) throw error;
    throw new EnrolmentRefused(`The file is not a certificate request: ${error.message}.`);
  }
}

/**
 * Keys that AWS IoT signs.
 * https://docs.aws.amazon.com/iot/latest/apireference/API_CreateCertificateFromCsr.html
 */
function isStrong({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  const { namedCurve = '', modulusLength = 0 } = asymmetricKeyDetails ?? {};
  if (asymmetricKeyType === 'ec') return ['prime256v1', 'secp384r1'].includes(namedCurve);
  return asymmetricKeyType === 'rsa' && modulusLength >= 2048;
}

function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?');
}
