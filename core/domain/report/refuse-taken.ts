// A device with a provider or an attach handle of another device of its host, which an earlier
// report has described. Both are named by what the host says, and are unique in the cloud: usage
// and claims are found by them. Pure.

import type { DiscoveredDevice } from '#core/domain/device/device.ts';
import { mustStay } from '#core/domain/device/handle-state.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { derivedNames } from './device-plan.ts';
import type { ReportPlan } from './report-plan.ts';
import type { StoredHandles } from './withhold-held-elsewhere.ts';

/** Whether the host names handles of the device itself. */
export function hasGivenUuids(device: DiscoveredDevice): boolean {
  return givenUuids(device).size > 0;
}

/**
 * The plan without these devices. They are refused as long as the other device is described as it
 * is.
 */
export function refuseTaken(plan: ReportPlan, stored: readonly StoredHandles[]): ReportPlan {
  const retired = new Set(plan.retire.map(({ uuid }) => uuid));
  const refused = { ...plan.refused };
  const put = plan.put.filter((discovered) => {
    const fault = findFault(discovered, stored, retired);
    if (!fault) return true;
    const { digest, driver } = discovered;
    refused[discovered.address] = { digest, driver, ...fault };
    return false;
  });
  if (put.length === plan.put.length) return plan;
  const left = plan.put.filter((each) => !put.includes(each)).map(({ address }) => address);
  return { ...plan, put, refused, unseen: [...plan.unseen, ...left] };
}

function findFault(
  discovered: DiscoveredDevice,
  stored: readonly StoredHandles[],
  retired: ReadonlySet<string>,
): { readonly reason: string; readonly holderDigest: string } | undefined {
  const uuids = givenUuids(discovered);
  for (const { device, handles } of stored) {
    const { address, hostname, digest: holderDigest } = device;
    if (address === discovered.address) continue;
    // A card that was moved to another slot takes its provider along.
    const hasLeft = device.isGone || retired.has(device.uuid);
    const named = hasLeft
      ? undefined
      : derivedNames(hostname, discovered).find((name) =>
          device.providers.includes(providerUuid(name)),
        );
    if (named)
      return { reason: `the device at ${address} has a provider named ${named}`, holderDigest };
    const held = handles.find(
      (handle) => uuids.has(handle.uuid) && (!handle.isGone || mustStay(handle)),
    );
    if (held) {
      const reason = `the device at ${address} has an attach handle with the uuid ${held.uuid}`;
      return { reason, holderDigest };
    }
  }
  return undefined;
}

function givenUuids({ offers, regions }: DiscoveredDevice): Set<string> {
  const offerings = [...(offers ? [offers] : []), ...regions];
  return new Set(
    offerings.flatMap(({ attachHandles }) => attachHandles.flatMap(({ uuid }) => uuid ?? [])),
  );
}
