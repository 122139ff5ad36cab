import { providerSyncMessage } from '#core/contracts/queue-messages.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { restoreTree } from '#core/operations/placement/restore-tree.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { queueConsumer } from './queue-consumer.ts';

/** A device changed, or Placement may have lost the tree of a host → sync Placement. */
export const makeConsumer = queueConsumer(
  'provider-syncs',
  providerSyncMessage,
  async (deps, message, { attempt }) => {
    if ('hostname' in message) return restoreTree(deps, message.hostname, attempt);
    const countedAt = attempt === 1 ? message.counted_at : undefined;
    return syncProviders(deps, message.provider_uuid as ProviderUuid, attempt, countedAt);
  },
);

export const handler = makeConsumer();
