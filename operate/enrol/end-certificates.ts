// Takes certificates away from a host: old ones after a rotation, or all when it is lost.

import { hostnameOf } from '#core/contracts/topics.ts';
import { EnrolmentRefused } from './enrol-host.ts';
import type { HostCertificate, Registry } from './registry.ts';

/**
 * Removes all but the one that the host connects with, which has to be its newest: else the new one may
 * not be on the host yet, and it would be locked out.
 *
 * @param inUse the certificate that the host's agent last connected with, as far as is known
 */
export async function retireCertificates(
  registry: Registry,
  thing: string,
  inUse: string | undefined,
): Promise<HostCertificate[]> {
  const certificates = await registry.certificatesOf(thing);
  const newest = certificates.find(({ status }) => status === 'ACTIVE');
  if (newest === undefined) {
    throw new EnrolmentRefused(`${hostnameOf(thing)} has no active certificate: nothing to keep.`);
  }
  if (newest.id !== inUse) {
    throw new EnrolmentRefused(
      `${hostnameOf(thing)} has not connected with its newest certificate, ${newest.id}, but with ` +
        `${inUse ?? 'none that is known'}: bring it there first; or, where you know better, --keep <id>.`,
    );
  }
  return removeAllBut(registry, thing, certificates, newest.id);
}

/** Removes all but the one that is named. */
export async function keepCertificate(
  registry: Registry,
  thing: string,
  id: string,
): Promise<HostCertificate[]> {
  const certificates = await registry.certificatesOf(thing);
  if (!certificates.some((each) => each.id === id && each.status === 'ACTIVE')) {
    throw new EnrolmentRefused(`${hostnameOf(thing)} has no active certificate ${id}.`);
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

/** All of them, for good: the host is lost. The thing stays, and may be enrolled again. */
export async function revokeCertificates(
  registry: Registry,
  thing: string,
): Promise<HostCertificate[]> {
  const certificates = await registry.certificatesOf(thing);
  if (certificates.length === 0) await refuseUnknown(registry, thing);
  for (const certificate of certificates) await registry.revoke(certificate, thing);
  return certificates;
}

/** Whoever mistyped the name must not take the host for shut out. @throws EnrolmentRefused */
export async function refuseUnknown(registry: Registry, thing: string): Promise<void> {
  if ((await registry.things()).includes(thing)) return;
  throw new EnrolmentRefused(
    `No host ${hostnameOf(thing)} is enrolled: there is no thing ${thing}.`,
  );
}
