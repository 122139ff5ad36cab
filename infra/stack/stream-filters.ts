// Filters of the table changes that invoke the stream consumers: those that
// core/domain/outbox/outbox.ts can follow up, or that core/domain/outbox/domain-events.ts
// announces. A filter may pass changes without consequences but must never drop one with
// consequences; test/infra/stream-filters.test.ts compares them.
//
// Lambda matches on the record's `dynamodb` part only; a deleted row has no new image.
// https://docs.aws.amazon.com/lambda/latest/dg/with-ddb-filtering.html

import type { tables } from '#core/store/table/tables.ts';

type StreamedTable = Extract<(typeof tables)[number], { hasStream: true }>['name'];

/**
 * How long a batch of `announcements` waits for more records: each invocation is paid for, and the
 * history and the events of other services may be a moment late.
 */
export const announcedWithinSeconds = 10;

interface ImagePatterns {
  readonly NewImage?: ImagePattern;
  readonly OldImage?: ImagePattern;
}

interface ChangePattern {
  /** One of the alternatives must match. */
  readonly dynamodb: ImagePatterns | { readonly $or: readonly ImagePatterns[] };
}

type ImagePattern = Readonly<Record<string, AttributePattern>>;

/** Keys are types of the value; one of the matches must hold. */
export type AttributePattern = Readonly<Record<string, readonly Match[]>>;

export type Match = { readonly prefix: string } | { readonly exists: boolean };

const hostWork = [{ prefix: 'RELEASE#' }, { prefix: 'PROGRAM#' }];
const handle = { sk: { S: [{ prefix: 'HANDLE#' }] } };
const isRestored = { restored_at: { S: [{ exists: true }] } };
const binding = { pk: { S: [{ prefix: 'INSTANCE#' }] } };
const isQuarantined = { quarantine: { S: [{ exists: true }] } };

export type ChangePatterns = Readonly<Record<StreamedTable, readonly ChangePattern[]>>;

/**
 * A change that matches any of a table's patterns invokes the function. Lambda allows five; a
 * table without patterns is not read.
 */
export const followedChanges: ChangePatterns = {
  'device-profiles': [],
  // The binding of an instance, and host work. Rows of ARQs change more often.
  arqs: [
    changeTo({ pk: { S: [{ prefix: 'INSTANCE#' }, ...hostWork] } }),
    // Placement reserves less when an instance without an allocation goes.
    { dynamodb: { OldImage: binding } },
    changeTo({ pk: { S: [{ prefix: 'JOB#' }] }, booted_host: { S: [{ exists: true }] } }),
  ],
  inventory: [
    changeTo({ sk: { S: [{ prefix: 'DEVICE#' }] } }),
    // A handle that is gone and free, or that enters quarantine. Claims and releases of
    // other handles are most changes of this table.
    changeTo({
      ...handle,
      is_gone: { BOOL: [{ exists: true }] },
      arq_uuid: { S: [{ exists: false }] },
    }),
    changeTo({ ...handle, ...isQuarantined }),
    {
      dynamodb: {
        $or: [
          // Or that leaves it, or is reinstated after a restore.
          { NewImage: handle, OldImage: isQuarantined },
          { NewImage: handle, OldImage: isRestored },
          // Or one that is cleaned for long: Placement reserves it meanwhile.
          { NewImage: { ...handle, takes_long: { BOOL: [{ exists: true }] } } },
          // Or one of a pool, with which the amounts change that it can give.
          { NewImage: { ...handle, is_of_pool: { BOOL: [{ exists: true }] } } },
        ],
      },
    },
  ],
};

const isAbsent = { pk: { S: [{ exists: false }] } };
const recorded = {
  sk: { S: [{ prefix: 'DEVICE#' }, { prefix: 'HANDLE#' }, { prefix: 'SUMMARY' }] },
};
const arq = { pk: { S: [{ prefix: 'ARQ#' }] } };

/**
 * Changes that are announced, or that the history has; see
 * core/operations/outbox/events-of-change.ts and core/domain/history/history-of-change.ts.
 */
export const announcedChanges: ChangePatterns = {
  arqs: [
    changeTo(binding),
    { dynamodb: { OldImage: binding } },
    // The creation of an ARQ, and the end of an ARQ without an instance.
    { dynamodb: { NewImage: arq, OldImage: isAbsent } },
    {
      dynamodb: {
        OldImage: { ...arq, bind_id: { S: [{ exists: false }] } },
        NewImage: isAbsent,
      },
    },
  ],
  inventory: [
    changeTo(recorded),
    {
      dynamodb: {
        OldImage: recorded,
        NewImage: isAbsent,
      },
    },
    // Programs of operators.
    changeTo({ sk: { S: [{ prefix: 'DEPLOYABLE' }] }, program_id: { S: [{ exists: true }] } }),
  ],
  'device-profiles': [changeTo({ pk: { S: [{ prefix: 'NAME#' }, { prefix: 'DELETED#' }] } })],
};

function changeTo(NewImage: ImagePattern): ChangePattern {
  return { dynamodb: { NewImage } };
}
