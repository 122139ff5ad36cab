// Removes hosts from AWS IoT for good, so that the stack can be removed: an attached policy and a
// used thing type cannot be deleted.

import type { HostCertificate, Registry } from '#core/clients/aws/host-registry.ts';
import { readHostname } from '#core/contracts/topics.ts';
import { EnrolmentRefused } from './enrol-host.ts';

/**
 * Removes the certificates and things of the hosts; can be repeated after a failure. If an agent
 * is still connected, nothing is removed: it should not be connected, or the stage is the wrong
 * one.
 *
 * @param isConnected as far as is known
 * @param onRemoved called for each removed host
 * @throws EnrolmentRefused
 */
export async function removeHosts(
  registry: Registry,
  things: readonly string[],
  isConnected: (hostname: string) => Promise<boolean>,
  onRemoved: (hostname: string, certificates: readonly HostCertificate[]) => void,
): Promise<void> {
  const inUse: string[] = [];
  for (const thing of things) {
    const certificates = await registry.certificatesOf(thing);
    const mayConnect = certificates.some(({ status }) => status === 'ACTIVE');
    if (mayConnect && (await isConnected(readHostname(thing)))) inUse.push(readHostname(thing));
  }
  if (inUse.length > 0) {
    throw new EnrolmentRefused(
      `Nothing was removed, since agents are connected: ${inUse.join(', ')}. Stop them with ` +
        'systemctl disable --now cyborg-agent, or revoke the hosts first.',
    );
  }
  for (const thing of things) {
    const certificates = await registry.certificatesOf(thing);
    for (const certificate of certificates) await registry.remove(certificate, thing);
    await registry.removeThing(thing);
    onRemoved(readHostname(thing), certificates);
  }
}
