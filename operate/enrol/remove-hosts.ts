// Takes hosts out of AWS IoT for good, so that a stack can be removed: a policy that a certificate has,
// and a type that a thing has, cannot be deleted.

import { hostnameOf } from '#core/contracts/topics.ts';
import { EnrolmentRefused } from './enrol-host.ts';
import type { HostCertificate, Registry } from './registry.ts';

/**
 * Their certificates and things. Whoever dies at any step runs it again. All or none where an agent is
 * connected still: it is one that should not be there, or the stage is another than was meant.
 *
 * @param isConnected as far as is known
 * @param onRemoved told of each, when it is gone
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
    if (mayConnect && (await isConnected(hostnameOf(thing)))) inUse.push(hostnameOf(thing));
  }
  if (inUse.length > 0) {
    throw new EnrolmentRefused(
      `Connected, so nothing was removed: ${inUse.join(', ')}. Stop the agent there, ` +
        'systemctl disable --now cyborg-agent, or revoke the host first.',
    );
  }
  for (const thing of things) {
    const certificates = await registry.certificatesOf(thing);
    for (const certificate of certificates) await registry.remove(certificate, thing);
    await registry.removeThing(thing);
    onRemoved(hostnameOf(thing), certificates);
  }
}
