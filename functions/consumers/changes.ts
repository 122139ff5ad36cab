import type { Context, DynamoDBBatchResponse, DynamoDBStreamEvent } from 'aws-lambda';
import { type ConsumerDeps, createConsumerDeps } from '#core/consumer-deps.ts';
import { followUps } from '#core/domain/outbox/outbox.ts';
import { relayChanges } from '#core/operations/outbox/relay-changes.ts';
import { decideChanges } from './batch/stream-changes.ts';

export type StreamHandler = (
  event: DynamoDBStreamEvent,
  context: Context,
) => Promise<DynamoDBBatchResponse>;

/**
 * The tables' streams → messages for the consequences of committed changes. A batch is sent
 * completely or retried completely: every consumer accepts duplicates.
 */
export function changesConsumer(
  makeDeps: () => ConsumerDeps = () => createConsumerDeps('changes'),
): StreamHandler {
  let deps: ConsumerDeps | undefined;
  return async (event) => {
    deps ??= makeDeps();
    const changes = await decideChanges(deps, event.Records, followUps);
    await relayChanges(
      deps,
      changes.flatMap(({ decision }) => decision),
    );
    return { batchItemFailures: [] };
  };
}

export const handler = changesConsumer();
