import { isDeepStrictEqual } from 'node:util';
import type { NovaDeps } from '#core/deps.ts';
import type { Arq } from '#core/domain/arq/arq.ts';
import type { BindTarget } from '#core/domain/arq/bind-plan.ts';
import { BindTargetMismatch } from '#core/domain/errors.ts';
import type { ArqUuid, ProviderUuid } from '#core/domain/ids.ts';
import { groupResources } from '#core/domain/profile/device-profile.ts';

type Amounts = Readonly<Record<string, number>>;

/**
 * Compares what Placement has allocated to the instance with what its ARQs ask for. They differ
 * where the profile's amounts were changed after Nova had read them: the server would run with
 * other devices than Placement counts.
 *
 * @throws BindTargetMismatch
 */
export async function checkAllocation(
  { clients, store }: Pick<NovaDeps, 'clients' | 'store'>,
  targets: readonly BindTarget[],
  arqs: ReadonlyMap<ArqUuid, Arq>,
): Promise<void> {
  const [first] = targets;
  const isChecked = [...arqs.values()].some(({ checksAllocation }) => checksAllocation);
  if (!first || !isChecked) return;
  const { instanceUuid, hostname } = first;
  const requested = requestedAmounts(targets, arqs);
  const allocated = await clients.placement.getAllocations(instanceUuid);
  const others = Object.keys(allocated).filter((uuid) => !requested.has(uuid as ProviderUuid));
  const devices = await store.inventory.providers(others as ProviderUuid[]);
  const unclaimed = devices.filter(({ deployable }) => deployable.hostname === hostname);
  const expected = new Map<string, Amounts>([
    ...requested,
    ...unclaimed.map(({ deployable }): [string, Amounts] => [deployable.providerUuid, {}]),
  ]);
  for (const [provider, amounts] of expected) {
    const held = allocated[provider] ?? {};
    if (isDeepStrictEqual({ ...held }, amounts)) continue;
    const [name] = new Set([...arqs.values()].map((arq) => arq.deviceProfileName));
    throw new BindTargetMismatch(
      `Device profile ${name} was changed while instance ${instanceUuid} was scheduled: of resource provider ${provider}, ` +
        `Placement allocated ${shown(held)}, and the accelerator requests ask for ${shown(amounts)}. Create the server again.`,
    );
  }
}

/** A group is allocated once, on one provider, whatever number of ARQs it makes. */
function requestedAmounts(
  targets: readonly BindTarget[],
  arqs: ReadonlyMap<ArqUuid, Arq>,
): Map<ProviderUuid, Amounts> {
  const groups = new Map<string, { provider: ProviderUuid; amounts: Amounts }>();
  for (const { arqUuid, providerUuid } of targets) {
    const arq = arqs.get(arqUuid);
    if (!arq) continue;
    const amounts = groupResources(arq.group);
    groups.set(`${arq.deviceProfileName} ${arq.groupId}`, { provider: providerUuid, amounts });
  }
  const sums = new Map<ProviderUuid, Record<string, number>>();
  for (const { provider, amounts } of groups.values()) {
    const sum = sums.get(provider) ?? {};
    for (const [name, amount] of Object.entries(amounts)) sum[name] = (sum[name] ?? 0) + amount;
    sums.set(provider, sum);
  }
  return sums;
}

function shown(amounts: Amounts): string {
  const parts = Object.entries(amounts).map(([name, amount]) => `${amount} ${name}`);
  return parts.join(' and ') || 'nothing';
}
