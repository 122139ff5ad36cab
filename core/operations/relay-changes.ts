import type { NovaEventMessage, ProviderSyncMessage } from '../contracts/queue-messages.ts';
import type { Deps } from '../deps.ts';
import { type Change, type FollowUp, followUps } from '../domain/outbox.ts';

/**
 * Sends what follows from committed changes. Called again with the same changes it sends the same
 * again: every consumer takes duplicates.
 */
export async function relayChanges(deps: Deps, changes: readonly Change[]): Promise<void> {
  const all = changes.flatMap(followUps);
  await deps.queues.send('nova-events', all.flatMap(novaEvent));
  await deps.queues.send('provider-syncs', distinctProviders(all));
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

/** The consumer reads what is stored by then: one message says as much as ten. */
function distinctProviders(all: readonly FollowUp[]): ProviderSyncMessage[] {
  const uuids = all.flatMap((each) => (each.kind === 'sync-providers' ? [each.providerUuid] : []));
  return [...new Set(uuids)].map((provider_uuid) => ({ provider_uuid }));
}
