import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { Device } from '#core/domain/device/device.ts';
import { type WantedProvider, withheld } from '#core/domain/placement/provider-tree.ts';
import type { ConflictingProvider } from './find-conflicting-provider.ts';
import { otherStackAt, putInventories } from './put-provider.ts';

/**
 * Reserves all of a device that another service offers, too. The next reconcile compares again.
 */
export async function withhold(
  deps: ConsumerDeps,
  device: Device,
  providers: readonly WantedProvider[],
  conflicting: ConflictingProvider,
): Promise<void> {
  for (const provider of providers) {
    const isThere = await deps.clients.placement.getProvider(provider.uuid);
    const isOurs = isThere && !(await otherStackAt(deps, provider.uuid));
    if (isOurs) await putInventories(deps, withheld(provider));
  }
  sayOfferedTwice(
    deps,
    device,
    conflicting.isNovas
      ? "Device offered by Nova, too: take it out of Nova's PCI or mdev configuration, or out of the agent's"
      : 'Device offered by another service, too',
    { provider: conflicting.uuid, name: conflicting.name },
  );
}

export function sayOfferedTwice(
  deps: ConsumerDeps,
  { hostname: host, address }: Device,
  message: string,
  about: Readonly<Record<string, string>>,
): void {
  deps.metrics.put([{ name: 'DevicesOfferedTwice', value: 1 }]);
  deps.log.error(message, { host, address, ...about });
}
