// Which changes of a table's rows invoke the stream consumers: those that core/domain/outbox.ts can
// follow up, or of which core/domain/domain-events.ts tells, as far as a pattern can tell. A pattern may let through what nothing follows from, never
// keep back what something does; test/infra/stream-filters.test.ts holds the two together.
//
// Lambda matches on the record's `dynamodb` part only; a deleted row has no new image.
// https://docs.aws.amazon.com/lambda/latest/dg/with-ddb-filtering.html

import type { tables } from '#core/store/tables.ts';

type StreamedTable = Extract<(typeof tables)[number], { hasStream: true }>['name'];

export interface ChangePattern {
  readonly dynamodb: {
    readonly NewImage?: ImagePattern;
    readonly OldImage?: ImagePattern;
  };
}

type ImagePattern = Readonly<Record<string, AttributePattern>>;

/** By the type of the value: one of these holds. */
export type AttributePattern = Readonly<Record<string, readonly Match[]>>;

export type Match = { readonly prefix: string } | { readonly exists: boolean };

const hostWork = [{ prefix: 'RELEASE#' }, { prefix: 'PROGRAM#' }];
const handle = { sk: { S: [{ prefix: 'HANDLE#' }] } };
const isRestored = { restored_at: { S: [{ exists: true }] } };
const endOfClaim = { dynamodb: { OldImage: { pk: { S: [{ prefix: 'INSTANCE#' }] } } } } as const;
const isQuarantined = { quarantine: { S: [{ exists: true }] } };

export type ChangePatterns = Readonly<Record<StreamedTable, readonly ChangePattern[]>>;

/** A change that meets any of a table's patterns invokes the function. Lambda takes five. */
export const followedChanges: ChangePatterns = {
  // What is bound for an instance, and host work. ARQs themselves change more often.
  arqs: [
    changeTo({ pk: { S: [{ prefix: 'INSTANCE#' }, ...hostWork] } }),
    // Ends of claims are counted.
    endOfClaim,
    changeTo({ pk: { S: [{ prefix: 'JOB#' }] }, booted_host: { S: [{ exists: true }] } }),
  ],
  inventory: [
    changeTo({ sk: { S: [{ prefix: 'DEVICE#' }] } }),
    // A handle that is gone and free, or went into quarantine or out of it. Claims and releases of
    // others are most of what happens to this table.
    changeTo({
      ...handle,
      is_gone: { BOOL: [{ exists: true }] },
      arq_uuid: { S: [{ exists: false }] },
    }),
    changeTo({ ...handle, ...isQuarantined }),
    { dynamodb: { NewImage: handle, OldImage: isQuarantined } },
    // Or is trusted again after it was put back from a backup.
    { dynamodb: { NewImage: handle, OldImage: isRestored } },
  ],
};

/** Those of which others are told; see core/operations/outbox/events-of-change.ts. */
export const announcedChanges: ChangePatterns = {
  arqs: [changeTo({ pk: { S: [{ prefix: 'INSTANCE#' }] } }), endOfClaim],
  inventory: [
    changeTo({ sk: { S: [{ prefix: 'DEVICE#' }] } }),
    changeTo({ ...handle, ...isQuarantined }),
  ],
};

function changeTo(NewImage: ImagePattern): ChangePattern {
  return { dynamodb: { NewImage } };
}
