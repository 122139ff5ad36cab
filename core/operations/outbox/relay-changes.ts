import type { ConsumerDeps } from '../../consumer-deps.ts';
import type { MetricValue } from '../../contracts/metrics.ts';
import type {
  HostJobMessage,
  NovaEventMessage,
  ProviderSyncMessage,
} from '../../contracts/queue-messages.ts';
import { domainEventsOf } from '../../domain/domain-events.ts';
import type { ProviderUuid } from '../../domain/ids.ts';
import { type Change, type FollowUp, followUps } from '../../domain/outbox.ts';
import { sumOf, valuesOf } from './count-changes.ts';

/** What a committed change leads to. */
export interface Consequences {
  readonly followUps: readonly FollowUp[];
  readonly counts: readonly MetricValue[];
}

export function consequencesOf(change: Change): Consequences {
  return { followUps: followUps(change), counts: domainEventsOf(change).flatMap(valuesOf) };
}

/**
 * Sends what follows from committed changes, and counts what they tell. Called again with the same changes it sends the same
 * again: every consumer takes duplicates.
 */
export async function relayChanges(
  deps: ConsumerDeps,
  changes: readonly Consequences[],
): Promise<void> {
  const all = changes.flatMap((change) => change.followUps);
  await deps.queues.send('nova-events', all.flatMap(novaEvent));
  await deps.queues.send('host-jobs', all.flatMap(hostJob));
  await deps.queues.send('provider-syncs', distinctProviders(all));
  deps.metrics.put(sumOf(changes.flatMap(({ counts }) => counts)));
}

function novaEvent(followUp: FollowUp): NovaEventMessage[] {
  if (followUp.kind !== 'tell-nova') return [];
  const { instanceUuid, bindId, requestId } = followUp.binding;
  return [
    {
      instance_uuid: instanceUuid,
      bind_id: bindId,
      ...(requestId && { request_id: requestId }),
    },
  ];
}

function hostJob(followUp: FollowUp): HostJobMessage[] {
  switch (followUp.kind) {
    case 'start-bind': {
      const { instanceUuid, bindId, requestId } = followUp.binding;
      const request = requestId ? { request_id: requestId } : {};
      return [{ kind: 'bind', instance_uuid: instanceUuid, bind_id: bindId, ...request }];
    }
    case 'make-again':
      return [{ kind: 'boot', job_uuid: followUp.jobUuid }];
    case 'start-release': {
      const { id, requestId } = followUp.release;
      return [{ kind: 'release', release_id: id, ...(requestId && { request_id: requestId }) }];
    }
    default:
      return [];
  }
}

/** The consumer reads what is stored by then: one message says as much as ten. */
function distinctProviders(all: readonly FollowUp[]): ProviderSyncMessage[] {
  const wanted = new Map<ProviderUuid, ProviderSyncMessage>();
  for (const each of all) {
    if (each.kind !== 'sync-providers') continue;
    const { providerUuid: provider_uuid, requestId: request_id } = each;
    wanted.set(provider_uuid, {
      ...wanted.get(provider_uuid),
      provider_uuid,
      ...(request_id && { request_id }),
    });
  }
  return [...wanted.values()];
}
