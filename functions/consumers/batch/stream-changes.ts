// Records of the tables' streams, as their consumers read them.

import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { DynamoDBRecord } from 'aws-lambda';
import type { DeadLetter } from '#core/clients/aws/queues.ts';
import type { Device } from '#core/domain/device/device.ts';
import type { Change } from '#core/domain/outbox/outbox.ts';
import type { Log } from '#core/log.ts';
import { present } from '#core/shapes/derive/present.ts';
import { toSummary } from '#core/store/hosts/host-summaries.ts';
import { toArq, toInstance } from '#core/store/rows/arq-rows.ts';
import { toHandle } from '#core/store/rows/handle-rows.ts';
import { toJob, toJobUuid, toProgram, toRelease } from '#core/store/rows/host-work-rows.ts';
import { toDeployable, toDevice } from '#core/store/rows/inventory-rows.ts';
import { isFormerName, toProfile, toProfileDeletion } from '#core/store/rows/profile-rows.ts';
import { hostSummaryKey, type Row } from '#core/store/rows/rows.ts';

/** The id and the commit time of a change; the id is the same for each delivery. */
interface RecordMetadata {
  readonly id: string;
  /** Milliseconds since 1970, to the second. */
  readonly at: number;
}

interface Decided<T> {
  readonly sequenceNumber: string;
  readonly decision: T;
}

/**
 * The decision for each change that can have consequences, in the stream's order. A record that
 * cannot be parsed or decided, for example of a row edited by hand, is dead-lettered with its
 * cause: otherwise the stream would retry it for a day and block every record behind it.
 */
export async function decideChanges<T>(
  { log, deadLetter }: { readonly log: Log; readonly deadLetter: DeadLetter },
  records: readonly DynamoDBRecord[],
  decide: (change: Change, metadata: RecordMetadata) => T,
): Promise<Decided<T>[]> {
  const all: Decided<T>[] = [];
  for (const record of records) {
    const { eventID: id = '', dynamodb } = record;
    const metadata = { id, at: (dynamodb?.ApproximateCreationDateTime ?? 0) * 1000 };
    const sequenceNumber = dynamodb?.SequenceNumber ?? '';
    try {
      for (const change of toChange(record)) {
        all.push({ sequenceNumber, decision: decide(change, metadata) });
      }
    } catch (error) {
      log.error('Stream record unreadable', { keys: dynamodb?.Keys, error });
      await deadLetter({ cause: String(error), record });
    }
  }
  return all;
}

/** The change in a record; empty for rows without consequences. */
function toChange(record: DynamoDBRecord): Change[] {
  const before = readImages(record.dynamodb?.OldImage);
  const after = readImages(record.dynamodb?.NewImage);
  const key = String((after ?? before)?.pk);
  const sort = String((after ?? before)?.sk ?? '');
  // A row that bars an ARQ's uuid is no ARQ.
  if (key.startsWith('ARQ#'))
    return (after ?? before)?.is_barred ? [] : [{ kind: 'arq', ...images(before, after, toArq) }];
  if (key.startsWith('NAME#')) return profileChange(before, after);
  if (key.startsWith('DELETED#'))
    return [{ kind: 'profile-deletion', ...images(before, after, toProfileDeletion) }];
  if (key.startsWith('INSTANCE#'))
    return [{ kind: 'instance', ...images(before, after, toInstance) }];
  if (key.startsWith('JOB#')) {
    const uuid = toJobUuid(after ?? before ?? {});
    return [{ kind: 'job', uuid, ...images(before, after, toJob) }];
  }
  if (key.startsWith('RELEASE#')) return [{ kind: 'release', ...images(before, after, toRelease) }];
  if (key.startsWith('PROGRAM#')) return [{ kind: 'program', ...images(before, after, toProgram) }];
  if (sort.startsWith('DEVICE#')) {
    const device = images(before, after, toDevice);
    const requestId = newRequest(device);
    return [{ kind: 'device', ...device, ...present({ requestId }) }];
  }
  if (sort === hostSummaryKey('').sk)
    return [{ kind: 'host', ...images(before, after, toSummary) }];
  if (sort === 'DEPLOYABLE')
    return [{ kind: 'deployable', ...images(before, after, toDeployable) }];
  if (sort.startsWith('HANDLE#')) return [{ kind: 'handle', ...images(before, after, toHandle) }];
  return [];
}

/** A rename turns the row of the earlier name into one that leads to the profile. */
function profileChange(before: Row | undefined, after: Row | undefined): Change[] {
  if (after && isFormerName(after)) return [];
  const earlier = before && isFormerName(before) ? undefined : before;
  if (!earlier && !after) return [];
  return [{ kind: 'profile', ...images(earlier, after, toProfile) }];
}

/** The request by which an operator set the device's status, if the change is one of status. */
function newRequest({ before, after }: { before?: Device; after?: Device }): string | undefined {
  const [was, is] = [before, after].map((device) => device?.statusChange?.requestId);
  return is === was ? undefined : is;
}

type Image = NonNullable<DynamoDBRecord['dynamodb']>['NewImage'];

function readImages(image: Image): Row | undefined {
  // Lambda's types and the SDK's describe the same JSON.
  return image && unmarshall(image as Parameters<typeof unmarshall>[0]);
}

function images<T>(before: Row | undefined, after: Row | undefined, read: (row: Row) => T) {
  return { ...(before && { before: read(before) }), ...(after && { after: read(after) }) };
}
