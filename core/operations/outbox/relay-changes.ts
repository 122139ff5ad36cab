import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type {
  HostJobMessage,
  NovaEventMessage,
  ProviderSyncMessage,
} from '#core/contracts/queues/queue-messages.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import type { FollowUp, StartedWork } from '#core/domain/outbox/outbox.ts';
import { present } from '#core/shapes/derive/present.ts';

/** nova-compute takes a server about a second after its bind; most looks are the last. */
const firstLookSeconds = 3;

type EventStyle = ConsumerDeps['settings']['eventStyle'];

/**
 * Sends the messages that follow from committed changes. The same changes again send the same
 * messages again: every consumer takes duplicates.
 */
export async function relayChanges(deps: ConsumerDeps, all: readonly FollowUp[]): Promise<void> {
  const { eventStyle } = deps.settings;
  await deps.queues.send(
    'nova-events',
    all.flatMap((followUp) => novaEvent(followUp, eventStyle)),
  );
  await deps.queues.send('nova-events', all.flatMap(firstLook), firstLookSeconds);
  await deps.queues.send('host-jobs', all.flatMap(hostJob));
  await deps.queues.send('provider-syncs', [...distinctProviders(all), ...distinctTrees(all)]);
}

function novaEvent(followUp: FollowUp, style: EventStyle): NovaEventMessage[] {
  if (followUp.kind !== 'notify-nova') return [];
  // The Nova interaction specification has an event for each bind.
  if (!followUp.isAwaited && style === 'nova') return [];
  const { instanceUuid, bindId, requestId } = followUp.binding;
  return [{ instance_uuid: instanceUuid, bind_id: bindId, ...present({ request_id: requestId }) }];
}

function firstLook(followUp: FollowUp): NovaEventMessage[] {
  if (followUp.kind !== 'look-at-server') return [];
  const { instanceUuid, bindId, requestId } = followUp.binding;
  const look = { instance_uuid: instanceUuid, bind_id: bindId, is_look: true } as const;
  return [{ ...look, ...present({ request_id: requestId }) }];
}

function hostJob(followUp: FollowUp): HostJobMessage[] {
  if (followUp.kind !== 'start-work') return [];
  const { requestId } = followUp.work;
  return [{ ...toHostJob(followUp.work), ...present({ request_id: requestId }) }];
}

function toHostJob(work: StartedWork): HostJobMessage {
  switch (work.kind) {
    case 'bind':
      return { kind: work.kind, instance_uuid: work.instanceUuid, bind_id: work.bindId };
    case 'release':
      return { kind: work.kind, release_id: work.releaseId };
    case 'reprovision':
      return { kind: work.kind, job_uuid: work.jobUuid };
    case 'program':
      return { kind: work.kind, program_id: work.programId };
  }
}

/** The consumer reads the stored rows, so one message for a provider is enough. */
function distinctProviders(all: readonly FollowUp[]): ProviderSyncMessage[] {
  const messages = new Map<ProviderUuid, ProviderSyncMessage>();
  for (const each of all) {
    if (each.kind !== 'sync-providers') continue;
    const { providerUuid: provider_uuid, requestId: request_id } = each;
    messages.set(provider_uuid, {
      ...messages.get(provider_uuid),
      provider_uuid,
      ...present({ request_id }),
    });
  }
  return [...messages.values()];
}

function distinctTrees(all: readonly FollowUp[]): ProviderSyncMessage[] {
  const hosts = all.flatMap((each) => (each.kind === 'restore-tree' ? [each.hostname] : []));
  return [...new Set(hosts)].map((hostname) => ({ hostname }));
}
