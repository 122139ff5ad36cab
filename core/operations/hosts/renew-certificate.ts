// A host's next certificate, for a key that the host has made. Every step can be repeated: a
// certificate is found again by its key, and becomes valid for connections last. The host's old
// certificates go only after it has connected with the newest one.

import { type KeyObject, X509Certificate } from 'node:crypto';
import type { CertificateAnswers } from '#core/clients/aws/certificate-answers.ts';
import type { HostCertificate, Registry } from '#core/clients/aws/host-registry.ts';
import { checkHostRequest, RequestInvalid } from '#core/contracts/identity/read-request.ts';
import type { CertificateMessage } from '#core/contracts/identity/renewal.ts';
import { thingName } from '#core/contracts/topics.ts';
import type { Deps } from '#core/deps.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { timeNow } from '#core/operations/time-now.ts';

export interface Renewal {
  readonly registry: Registry;
  readonly answers: CertificateAnswers;
}

/** How many may connect at once: more would be a loop, or a thief who makes spare ones. */
const activeMax = 3;

/** Longer than the consumer runs: one that outlives its lease could issue one too many. */
const leaseSeconds = 20;
const leaseRetrySeconds = 1;

/** A presence event may come after the host's message, by a minute at most. */
const retrySeconds = 10;
const attemptsMax = 6;

export async function renewCertificate(
  deps: Deps,
  renewal: Renewal,
  hostname: string,
  message: CertificateMessage,
  attempt: number,
): Promise<void> {
  const thing = thingName(deps.settings.stage, hostname);
  if ('in_use' in message) {
    const inUse = message.in_use;
    await removeOlder(deps, renewal.registry, { hostname, thing, inUse, attempt });
    return;
  }
  try {
    const certificate = await certify(deps, renewal.registry, { hostname, thing }, message.csr);
    await renewal.answers.send(hostname, { certificate: certificate.pem });
    deps.log.info('Certificate issued', { host: hostname, certificate: certificate.id });
  } catch (error) {
    if (!(error instanceof RequestInvalid)) throw error;
    deps.log.warn('Certificate refused', { host: hostname, reason: error.message });
    await renewal.answers.send(hostname, { refused: error.message });
  }
}

/**
 * Consumers that count certificates at once would each find room for one more, so one at a time
 * certifies a host.
 *
 * @throws RequestInvalid; RetryLater while another consumer works on the host
 */
async function certify(
  deps: Deps,
  registry: Registry,
  { hostname, thing }: Pick<InUse, 'hostname' | 'thing'>,
  csr: string,
): Promise<HostCertificate> {
  const publicKey = checkHostRequest(csr, thing);
  const { inventory } = deps.store;
  const holder = deps.uuid();
  const until = timeNow(deps, leaseSeconds * 1000);
  if (!(await inventory.takeLease(hostname, holder, timeNow(deps), until))) {
    throw new RetryLater(`Another message of ${hostname} is being handled.`, leaseRetrySeconds);
  }
  try {
    return await certifyUnderLease(registry, thing, csr, publicKey);
  } finally {
    await inventory.endLease(hostname, holder);
  }
}

/**
 * The mark of a revoked host is read before anything is issued, and again once the certificate is
 * active: the revocation may have looked for certificates between the two.
 *
 * @throws RequestInvalid
 */
async function certifyUnderLease(
  registry: Registry,
  thing: string,
  csr: string,
  publicKey: KeyObject,
): Promise<HostCertificate> {
  await refuseRevoked(registry, thing);
  const certificates = await registry.certificatesOf(thing);
  const existing = certificates.find(({ pem }) => isOfKey(pem, publicKey));
  const others = certificates.filter((each) => each !== existing && each.status === 'ACTIVE');
  if (others.length === 0 && existing?.status !== 'ACTIVE') {
    throw new RequestInvalid('the host has no active certificate');
  }
  if (existing?.status === 'REVOKED') throw new RequestInvalid('its certificate is revoked');
  if (existing?.status !== 'ACTIVE' && others.length >= activeMax) {
    throw new RequestInvalid(`the host has ${others.length} active certificates already`);
  }
  const certificate = existing ?? (await registry.issue(csr));
  if (!existing) await registry.attach(certificate, thing);
  await registry.allow(certificate);
  await registry.activate(certificate);
  await refuseRevoked(registry, thing);
  return certificate;
}

/** @throws RequestInvalid for a host that is revoked; then none of its certificates is active. */
async function refuseRevoked(registry: Registry, thing: string): Promise<void> {
  if (!(await registry.isRevoked(thing))) return;
  await registry.revokeAll(thing);
  throw new RequestInvalid('the host is revoked');
}

function isOfKey(pem: string, publicKey: KeyObject): boolean {
  return new X509Certificate(pem).publicKey.equals(publicKey);
}

interface InUse {
  readonly hostname: string;
  readonly thing: string;
  readonly inUse: string;
  readonly attempt: number;
}

/** AWS's event of the connection says which certificate the host uses, not the host's word. */
async function removeOlder(deps: Deps, registry: Registry, host: InUse): Promise<void> {
  const { hostname, thing, inUse, attempt } = host;
  const { presence } = (await deps.store.inventory.host(hostname)).host;
  if (presence?.certificate !== inUse && attempt < attemptsMax) {
    throw new RetryLater(`${hostname} has not connected with certificate ${inUse}.`, retrySeconds);
  }
  const certificates = await registry.certificatesOf(thing);
  const newest = certificates.find(({ status }) => status === 'ACTIVE');
  if (newest?.id !== inUse || presence?.certificate !== inUse) {
    const connected = presence?.certificate;
    deps.log.warn('Old certificates kept', { host: hostname, in_use: inUse, connected });
    return;
  }
  for (const certificate of certificates) {
    if (certificate.id === inUse) continue;
    await registry.remove(certificate, thing);
    deps.log.info('Certificate removed', { host: hostname, certificate: certificate.id });
  }
}
