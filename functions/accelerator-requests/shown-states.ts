import type { Deps } from '#core/deps.ts';
import type { Arq, InstanceBinding, ShownState } from '#core/domain/arq.ts';
import { needsCleaning } from '#core/domain/bind-plan.ts';
import type { Host } from '#core/domain/device.ts';
import { wantedImage } from '#core/domain/device-profile.ts';
import { isLost } from '#core/domain/presence.ts';

/**
 * The states to show. What an agent has made on its host is `unknown` while that agent is gone, for the
 * host may have booted since, or while two agents report as that host; and where it has, it is `provisioning` even before that is written down.
 * Costs a read per host of such ARQs, and nothing for others.
 *
 * @param binding of all of them, where it has been read before
 */
export async function shownStates(
  deps: Deps,
  arqs: readonly Arq[],
  binding?: InstanceBinding,
): Promise<ReadonlyMap<string, ShownState>> {
  const made = arqs.filter((arq) => isMade(deps, arq));
  const hosts = new Map<string, Host>();
  for (const hostname of new Set(made.map((arq) => String(arq.binding?.hostname)))) {
    hosts.set(hostname, (await deps.store.inventory.host(hostname)).host);
  }
  const shown = (arq: Arq): ShownState => {
    const host = made.includes(arq) && hosts.get(String(arq.binding?.hostname));
    if (!host) return arq.state;
    if (host.conflict || isLost(host, deps.clock())) return 'unknown';
    return isOfEarlierBoot(host, binding) ? 'provisioning' : arq.state;
  };
  return new Map(arqs.map((arq) => [arq.uuid, shown(arq)]));
}

/** By an agent: an mdev, or what a region holds. */
function isMade(deps: Deps, { state, binding, group }: Arq): boolean {
  if (!binding?.attachment || (state !== 'Bound' && state !== 'provisioning')) return false;
  return needsCleaning(binding.attachment, deps.settings.mdevOwner) || !!wantedImage(group);
}

function isOfEarlierBoot(host: Host, binding: InstanceBinding | undefined): boolean {
  return binding?.bootId !== undefined && binding.bootId !== host.bootId;
}
