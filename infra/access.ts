// What each function may touch, and so what its role allows and its environment names. DynamoDB's
// actions are those of the calls themselves; a transaction needs the actions of its parts.
//
// Base tables and indexes are apart: a function on Nova's path cannot read an index by mistake.
// test/infra/access.test.ts compares this with what the functions really ask for.

import type { QueueName, StreamConsumerName } from '#core/contracts/queues.ts';
import type { TableName } from '#core/store/tables.ts';
import type { Resource } from '#functions/routes.ts';

/** `changes` and `announcements` read the tables' streams; a queue's consumer has the queue's name. */
export type FunctionName = Resource | QueueName | StreamConsumerName | 'sweep';

export type TableAction =
  | 'GetItem'
  | 'BatchGetItem'
  | 'Query'
  | 'PutItem'
  | 'UpdateItem'
  | 'DeleteItem'
  | 'ConditionCheckItem';

export interface Access {
  readonly tables?: Readonly<Partial<Record<TableName, readonly TableAction[]>>>;
  /** Indexes that may be queried. */
  readonly indexes?: Readonly<Partial<Record<TableName, readonly string[]>>>;
  readonly sendsTo?: readonly QueueName[];
  /** What it may do with this stage's IoT jobs. */
  readonly jobs?: readonly ('CreateJob' | 'CancelJob' | 'DescribeJobExecution')[];
  /** Brings images to S3, and makes the URLs by which hosts fetch them. */
  readonly stagesImages?: boolean;
  /** Puts events on the stage's bus. */
  readonly announces?: boolean;
  /** Validates tokens, or calls Nova, Placement or Glance: it is given the service user's password. */
  readonly callsOpenStack: boolean;
}

/**
 * Whose work is traced by X-Ray: what Nova's requests and binds go through. Others would be traced for
 * each heartbeat and each device that comes round: at 10,000 hosts that costs more than all else.
 */
export const traced: readonly FunctionName[] = [
  'accelerator-requests',
  'device-profiles',
  'devices',
  'deployables',
  'attributes',
  'versions',
  'changes',
  'nova-events',
  'host-jobs',
  'job-events',
];

/** Of whoever calls OpenStack: our own token there, which one container leaves for the others. */
export const ownTokenAccess = {
  'service-tokens': ['GetItem', 'PutItem'],
} as const satisfies Access['tables'];

const listed = ['by-kind', 'by-created'] as const;

/** Whoever ends a bind or a release writes to its ARQs, the instance, the release and the job. */
const wholeRows = ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem', 'DeleteItem'] as const;

/** Whoever finishes a bind does so under the boot of its host; a region is given the status that its device has. */
const finishing = ['Query', 'UpdateItem', 'ConditionCheckItem'] as const;

export const access: Readonly<Record<FunctionName, Access>> = {
  // Answers unknown paths, too, and those to holders of a token only.
  versions: { callsOpenStack: true },
  'device-profiles': {
    tables: { 'device-profiles': ['GetItem', 'BatchGetItem', 'PutItem', 'DeleteItem'] },
    indexes: { 'device-profiles': listed, arqs: ['by-profile'] },
    callsOpenStack: true,
  },
  'accelerator-requests': {
    tables: {
      'device-profiles': ['GetItem'],
      arqs: wholeRows,
      // A claim reads a provider's partition and marks the handle; the inventory is the hosts'.
      inventory: ['Query', 'UpdateItem'],
    },
    // How many of a project's ARQs are unbound is counted by their deadlines.
    indexes: { arqs: ['by-kind', 'by-project', 'by-due'] },
    callsOpenStack: true,
  },
  devices: {
    indexes: { inventory: listed },
    // An admin frees by force what is in quarantine, or has its host clean up what a backup hides.
    tables: { arqs: ['GetItem', 'PutItem', 'DeleteItem'], inventory: ['Query', 'UpdateItem'] },
    callsOpenStack: true,
  },
  deployables: {
    indexes: { inventory: listed },
    // An admin has a region programmed, and its handles kept meanwhile.
    tables: { arqs: ['PutItem'], inventory: ['Query', 'UpdateItem'] },
    callsOpenStack: true,
  },
  attributes: {
    indexes: { inventory: ['by-kind'] },
    tables: { inventory: ['Query', 'UpdateItem'] },
    callsOpenStack: true,
  },

  changes: { sendsTo: ['nova-events', 'host-jobs', 'provider-syncs'], callsOpenStack: false },
  announcements: { announces: true, callsOpenStack: false },
  'nova-events': { tables: { arqs: ['GetItem', 'BatchGetItem'] }, callsOpenStack: true },
  'host-jobs': {
    tables: { arqs: wholeRows, inventory: finishing },
    jobs: ['CreateJob', 'CancelJob', 'DescribeJobExecution'],
    stagesImages: true,
    callsOpenStack: true,
  },
  'job-events': {
    // What could not be made with others after a boot is tried by itself.
    tables: { arqs: wholeRows, inventory: finishing },
    callsOpenStack: false,
  },
  'inventory-reports': {
    // A host that has booted starts its instances' devices over.
    tables: {
      arqs: wholeRows,
      inventory: ['GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
    },
    jobs: ['CreateJob'],
    callsOpenStack: false,
  },
  'host-presence': { tables: { inventory: ['Query', 'UpdateItem'] }, callsOpenStack: false },
  'provider-syncs': {
    // A device whose rows are damaged is marked, so that its host describes it again.
    // Handles from a backup are cleaned up by their host before somebody gets them.
    tables: { inventory: [...finishing, 'DeleteItem'], arqs: ['PutItem'] },
    callsOpenStack: true,
  },
  sweep: {
    // Whoever asks what became of a job does what its event would have done.
    tables: { arqs: wholeRows, inventory: finishing },
    // And what an operator has programmed is given up.
    jobs: ['DescribeJobExecution', 'CancelJob'],
    // The reaper walks over all deployables, and asks Placement and Nova about the instances that hold them.
    indexes: { arqs: ['by-due'], inventory: ['by-kind'] },
    // Devices to be compared with Placement; and what hosts were to make again, but nobody has asked for.
    sendsTo: ['host-jobs', 'provider-syncs'],
    callsOpenStack: true,
  },
};
