import { ServiceUnavailable } from '#core/clients/http.ts';
import type { ExternalEvent } from '#core/clients/openstack/nova.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { NovaEventMessage } from '#core/contracts/queues/queue-messages.ts';
import type { Deps } from '#core/deps.ts';
import { type InstanceBinding, isResolved } from '#core/domain/arq/arq.ts';
import { lastNotificationSeconds, novaWaitsSeconds } from '#core/domain/host-work/deadlines.ts';
import { pauseSeconds, RetryLater } from '#core/domain/retry-later.ts';

/** A failure must reach nova-compute while it waits, and no call says when it begins to wait. */
const failedAgainSeconds = 10;

/**
 * Notifies Nova how one binding ended. Any answer of Nova about single events is normal:
 * nova-compute lists the ARQs before it waits, and that list waits for the bind. The event matters
 * for binds that take longer. On unshelve Nova refuses each event (422).
 *
 * @param attempt which delivery of the message this is, from 1
 * @throws RetryLater while the notification must be repeated
 */
export async function notifyNova(
  deps: ConsumerDeps,
  message: NovaEventMessage,
  attempt: number,
): Promise<void> {
  const binding = await deps.store.arqs.binding(message.instance_uuid);
  // The binding is deleted, replaced, or provisioning: another message notifies Nova.
  if (binding?.bindId !== message.bind_id || !isResolved(binding.state)) return;
  const log = deps.log.child({ instance: binding.instanceUuid, bind: binding.bindId });
  const waitedSeconds = (deps.clock() - Date.parse(binding.startedAt)) / 1000;
  if (waitedSeconds > novaWaitsSeconds) {
    deps.metrics.put([{ name: 'NovaNotTold', value: 1 }]);
    log.error('Nova not notified in time', { state: binding.state, attempt });
    return;
  }
  try {
    const outcomes = await deps.clients.nova.postExternalEvents(
      await toExternalEvents(deps, binding),
    );
    countNotified(deps, binding);
    log.info('Nova notified', { state: binding.state, codes: outcomes.map(({ code }) => code) });
  } catch (error) {
    if (!(error instanceof ServiceUnavailable)) throw error;
    log.warn('Nova not notified yet', { error: error.message, attempt });
    throw new RetryLater(error.message, pauseSeconds(attempt, deps.random()));
  }
  if (binding.state === 'BindFailed' && waitedSeconds < lastNotificationSeconds) {
    throw new RetryLater(
      'Nova is notified of the failure again until the ARQs are deleted.',
      failedAgainSeconds,
    );
  }
}

/**
 * Counts bound ARQs only: the notification of a failure is repeated, so its latency means nothing.
 */
function countNotified(deps: ConsumerDeps, { state, startedAt }: InstanceBinding): void {
  if (state !== 'Bound') return;
  deps.metrics.put([{ name: 'NovaToldAfter', value: deps.clock() - Date.parse(startedAt) }]);
}

async function toExternalEvents(deps: Deps, binding: InstanceBinding): Promise<ExternalEvent[]> {
  const status = binding.state === 'Bound' ? 'completed' : 'failed';
  const server_uuid = binding.instanceUuid;
  if (deps.settings.eventStyle === 'nova') {
    return binding.arqUuids.map((tag) => {
      return { name: 'accelerator-request-bound', tag, server_uuid, status };
    });
  }
  // The name in the Nova interaction specification; no released Nova accepts it.
  const arqs = await deps.store.arqs.byUuids(binding.arqUuids);
  const profiles = new Set([...arqs.values()].map((arq) => arq.deviceProfileName));
  return [...profiles].map((tag) => {
    return { name: 'accelerator-requests-bound', tag, server_uuid, status };
  });
}
