import { providerSyncMessage } from '#core/contracts/queues/queue-messages.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { syncHost } from '#core/operations/placement/reconcile.ts';
import { restoreTree } from '#core/operations/placement/restore-tree.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { queueConsumer } from './batch/queue-consumer.ts';

/** A device changed, a host is due, or Placement may have lost its tree → sync Placement. */
export const makeConsumer = queueConsumer(
  'provider-syncs',
  providerSyncMessage,
  async (deps, message, { attempt }) => {
    if (!('hostname' in message)) {
      return syncProviders(deps, message.provider_uuid as ProviderUuid, attempt);
    }
    if (message.is_comparison) return syncHost(deps, message.hostname);
    return restoreTree(deps, message.hostname, attempt);
  },
  (message) => !('is_comparison' in message && message.is_comparison),
);

export const handler = makeConsumer();
