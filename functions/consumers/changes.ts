import { unmarshall } from '@aws-sdk/util-dynamodb';
import type {
  Context,
  DynamoDBBatchResponse,
  DynamoDBRecord,
  DynamoDBStreamEvent,
} from 'aws-lambda';
import { type ConsumerDeps, createConsumerDeps } from '#core/consumer-deps.ts';
import type { Change } from '#core/domain/outbox.ts';
import { relayChanges } from '#core/operations/relay-changes.ts';
import { jobOf, jobUuidOf, releaseOf } from '#core/store/host-work-rows.ts';
import { deviceOf, handleOf, instanceOf, type Row } from '#core/store/rows.ts';

export type StreamHandler = (
  event: DynamoDBStreamEvent,
  context: Context,
) => Promise<DynamoDBBatchResponse>;

/**
 * The tables' streams → what follows from committed changes. A batch is sent whole or comes again
 * whole: every consumer takes duplicates.
 */
export function changesConsumer(
  makeDeps: () => ConsumerDeps = () => createConsumerDeps('changes'),
): StreamHandler {
  let deps: ConsumerDeps | undefined;
  return async (event) => {
    deps ??= makeDeps();
    const { log } = deps;
    const changes = event.Records.flatMap((record) => {
      try {
        return changeOf(record);
      } catch (error) {
        // It would come again for a day, and hold up everything behind it.
        log.error('A change could not be read.', { keys: record.dynamodb?.Keys, error });
        return [];
      }
    });
    await relayChanges(deps, changes);
    return { batchItemFailures: [] };
  };
}

export const handler = changesConsumer();

/** The change of a row that something can follow from; most rows are none. */
function changeOf(record: DynamoDBRecord): Change[] {
  const before = imageOf(record.dynamodb?.OldImage);
  const after = imageOf(record.dynamodb?.NewImage);
  const key = String((after ?? before)?.pk);
  const sort = String((after ?? before)?.sk ?? '');
  if (key.startsWith('INSTANCE#'))
    return [{ kind: 'instance', ...images(before, after, instanceOf) }];
  if (key.startsWith('JOB#')) {
    const uuid = jobUuidOf(after ?? before ?? {});
    return [{ kind: 'job', uuid, ...images(before, after, jobOf) }];
  }
  if (key.startsWith('RELEASE#')) return [{ kind: 'release', ...images(before, after, releaseOf) }];
  if (sort.startsWith('DEVICE#')) return [{ kind: 'device', ...images(before, after, deviceOf) }];
  if (sort.startsWith('HANDLE#')) return [{ kind: 'handle', ...images(before, after, handleOf) }];
  return [];
}

type Image = NonNullable<DynamoDBRecord['dynamodb']>['NewImage'];

function imageOf(image: Image): Row | undefined {
  // Lambda's types and the SDK's describe the same JSON.
  return image && unmarshall(image as Parameters<typeof unmarshall>[0]);
}

function images<T>(before: Row | undefined, after: Row | undefined, read: (row: Row) => T) {
  return { ...(before && { before: read(before) }), ...(after && { after: read(after) }) };
}
