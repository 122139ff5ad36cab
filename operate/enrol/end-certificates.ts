// Removes certificates of a host: the old ones after a rotation, or all of them if the host is
// lost.

import type { HostCertificate, Registry } from '#core/clients/aws/host-registry.ts';
import { readHostname } from '#core/contracts/topics.ts';
import { EnrolmentRefused } from './enrol-host.ts';

/**
 * Removes all certificates except the one that the host connects with. That one must be the
 * newest: otherwise the new one may not be on the host yet, and the host would be locked out.
 *
 * @param inUse the certificate that the host's agent last connected with, if known
 */
export async function retireCertificates(
  registry: Registry,
  thing: string,
  inUse: string | undefined,
): Promise<HostCertificate[]> {
  const certificates = await registry.certificatesOf(thing);
  const newest = certificates.find(({ status }) => status === 'ACTIVE');
  if (newest === undefined) {
    throw new EnrolmentRefused(
      `${readHostname(thing)} has no active certificate: nothing to keep.`,
    );
  }
  if (newest.id !== inUse) {
    throw new EnrolmentRefused(
      `${readHostname(thing)} has not connected with its newest certificate, ${newest.id}; it uses ` +
        `${inUse ?? 'an unknown one'}. Install the newest one first, or name the one to keep: --keep <id>.`,
    );
  }
  return removeAllBut(registry, thing, certificates, newest.id);
}

/** Removes all certificates except the named one. */
export async function keepCertificate(
  registry: Registry,
  thing: string,
  id: string,
): Promise<HostCertificate[]> {
  const certificates = await registry.certificatesOf(thing);
  if (!certificates.some((each) => each.id === id && each.status === 'ACTIVE')) {
    throw new EnrolmentRefused(`${readHostname(thing)} has no active certificate ${id}.`);
  }
  return removeAllBut(registry, thing, certificates, id);
}

async function removeAllBut(
  registry: Registry,
  thing: string,
  certificates: readonly HostCertificate[],
  id: string,
): Promise<HostCertificate[]> {
  const old = certificates.filter((each) => each.id !== id);
  for (const certificate of old) await registry.remove(certificate, thing);
  return old;
}

/**
 * Revokes all certificates for good: the host is lost. The thing stays and can be enrolled again.
 */
export async function revokeCertificates(
  registry: Registry,
  thing: string,
): Promise<HostCertificate[]> {
  // The mark comes first: a renewal that goes on meanwhile reads it after its last step.
  await registry.setRevoked(thing, true);
  const certificates = await registry.revokeAll(thing);
  if (certificates.length === 0) await refuseUnknown(registry, thing);
  return certificates;
}

/** Otherwise a mistyped name would look like a revoked host. @throws EnrolmentRefused */
export async function refuseUnknown(registry: Registry, thing: string): Promise<void> {
  if ((await registry.things()).includes(thing)) return;
  throw new EnrolmentRefused(
    `No host ${readHostname(thing)} is enrolled: there is no thing ${thing}.`,
  );
}
