// Gives a host its identity, or a new one. After a failure at any step the command can be
// repeated with the same folder: the key exists before a certificate is requested, a certificate
// is attached to its thing before it can connect, and an attached certificate is found again. The
// certificate is activated last, after all files are written.

import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { HostCertificate, Registry } from '#core/clients/aws/host-registry.ts';
import { certificateRequest } from '#core/contracts/identity/certificate-request.ts';
import { thingName } from '#core/contracts/topics.ts';
import type { HostFolder } from './host-folder.ts';
import type { HostRequest } from './host-request.ts';

interface Enrolment {
  readonly registry: Registry;
  readonly stage: string;
  readonly hostname: string;
  readonly folder: HostFolder;
  /** The host has made its key itself; without a request, the folder has the key. */
  readonly request?: HostRequest;
  /** PEM of the authorities of the broker's certificate. */
  readonly authorities: string;
  /**
   * Text of the agent's settings for a broker host; undefined if the host has settings already.
   */
  readonly settings?: (brokerHost: string) => string;
  /** The host has a certificate and gets this one in addition. */
  readonly isRotation: boolean;
}

/** Nothing was changed; the message says what to do. */
export class EnrolmentRefused extends Error {
  override readonly name = 'EnrolmentRefused';
}

/** Returns the certificate in the folder. @throws EnrolmentRefused */
export async function enrolHost(enrolment: Enrolment): Promise<HostCertificate> {
  const { registry, folder, hostname } = enrolment;
  const thing = thingName(enrolment.stage, hostname);
  const registered = await registry.certificatesOf(thing);
  const stored = folder.certificate();
  if (stored !== undefined && !registered.some(({ pem }) => isSame(pem, stored))) {
    throw new EnrolmentRefused(
      `The folder holds a certificate that ${hostname} does not have: name an empty folder.`,
    );
  }
  if (enrolment.request && folder.hasKey()) {
    throw new EnrolmentRefused(
      'The folder holds a key, but with --csr the key is on the host: name an empty folder.',
    );
  }
  const { publicKey, pem: request } = enrolment.request ?? requestOf(folder.key(), thing);
  const hostCertificate = registered.find(({ pem }) =>
    new X509Certificate(pem).publicKey.equals(publicKey),
  );
  const fault = findFault(enrolment, hostCertificate, registered);
  if (fault !== undefined) throw new EnrolmentRefused(fault);

  await registry.ensureThing(thing);
  await registry.setRevoked(thing, false);
  const certificate = hostCertificate ?? (await registry.issue(request));
  if (!hostCertificate) await registry.attach(certificate, thing);
  await registry.allow(certificate);
  folder.write('authorities.pem', enrolment.authorities);
  if (enrolment.settings) {
    folder.write('agent.json', enrolment.settings(await registry.endpoint()));
  }
  folder.write('certificate.pem', certificate.pem);
  await registry.activate(certificate);
  return certificate;
}

function requestOf(key: KeyObject, thing: string): HostRequest {
  return { publicKey: createPublicKey(key), pem: certificateRequest(thing, key) };
}

function findFault(
  { isRotation, hostname }: Enrolment,
  hostCertificate: HostCertificate | undefined,
  registered: readonly HostCertificate[],
): string | undefined {
  const others = registered.filter((each) => each !== hostCertificate && each.status === 'ACTIVE');
  if (hostCertificate?.status === 'REVOKED') {
    return 'The certificate of this key is revoked: a new one needs a new key and an empty folder.';
  }
  if (!isRotation && others[0]) {
    return (
      `${hostname} has certificate ${others[0].id} already: rotate adds a second one, ` +
      'revoke ends all.'
    );
  }
  if (isRotation && others.length === 0) {
    return hostCertificate
      ? 'The folder holds the certificate in use: name an empty folder for the next one.'
      : `${hostname} has no certificate yet: add it first.`;
  }
  return undefined;
}

function isSame(a: string, b: string): boolean {
  return new X509Certificate(a).fingerprint256 === new X509Certificate(b).fingerprint256;
}
