import { providerSyncMessage } from '#core/contracts/queue-messages.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { queueConsumer } from './queue-consumer.ts';

/** A device changed → sync Placement. */
export const makeConsumer = queueConsumer(
  'provider-syncs',
  providerSyncMessage,
  (deps, message, { attempt }) =>
    syncProviders(
      deps,
      message.provider_uuid as ProviderUuid,
      attempt,
      attempt === 1 ? message.counted_at : undefined,
    ),
);

export const handler = makeConsumer();
