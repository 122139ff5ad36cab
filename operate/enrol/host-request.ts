// A certificate request that a host has made, so that its private key never leaves the host.

import type { KeyObject } from 'node:crypto';
import { checkHostRequest, RequestInvalid } from '#core/contracts/identity/read-request.ts';
import { EnrolmentRefused } from './enrol-host.ts';

export interface HostRequest {
  readonly pem: string;
  readonly publicKey: KeyObject;
}

/** @throws EnrolmentRefused */
export function readHostRequest(pem: string, thing: string): HostRequest {
  try {
    return { pem, publicKey: checkHostRequest(pem, thing) };
  } catch (error) {
    if (!(error instanceof RequestInvalid)) throw error;
    throw new EnrolmentRefused(`The certificate request is refused: ${error.message}.`);
  }
}
