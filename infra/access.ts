// What each function may access: the source of its role's permissions and of its environment.
// DynamoDB's actions are those of the calls; a transaction needs the actions of its parts.
//
// Base tables and indexes are separate: a function on Nova's path cannot read an index by
// mistake. test/infra/access.test.ts compares this table with the calls that the functions make.

import {
  type QueueName,
  queues,
  type StreamConsumerName,
  streamConsumers,
} from '#core/contracts/queues/queues.ts';
import type { TableName } from '#core/store/table/tables.ts';
import type { Resource } from '#functions/routes.ts';

/**
 * `changes` and `announcements` read the tables' streams; a queue's consumer has the queue's
 * name.
 */
export type FunctionName = Resource | QueueName | StreamConsumerName | 'sweep' | 'release-check';

type TableAction =
  | 'GetItem'
  | 'BatchGetItem'
  | 'Query'
  | 'PutItem'
  | 'UpdateItem'
  | 'DeleteItem'
  | 'ConditionCheckItem';

export interface Access {
  readonly tables?: Readonly<Partial<Record<TableName, readonly TableAction[]>>>;
  /** Indexes that the function may query. */
  readonly indexes?: Readonly<Partial<Record<TableName, readonly string[]>>>;
  readonly sendsTo?: readonly QueueName[];
  /** Actions on this stage's IoT jobs. */
  readonly jobs?: readonly ('CreateJob' | 'CancelJob' | 'DescribeJobExecution')[];
  /** Sends work messages to this stage's hosts. */
  readonly messagesHosts?: boolean;
  /** Issues the next certificates of this stage's hosts, and removes their old ones. */
  readonly certifiesHosts?: boolean;
  /** Copies images to S3, and creates the URLs from which hosts fetch them. */
  readonly stagesImages?: boolean;
  /** Puts events on the stage's bus. */
  readonly announces?: boolean;
  /**
   * Validates tokens or calls Nova, Placement or Glance, and so gets the service user's password.
   */
  readonly callsOpenStack: boolean;
  /** Calls new versions of these functions, before anyone else does. */
  readonly checks?: readonly FunctionName[];
  /** Passes sign-ins on to Keystone: it needs the way to it, and none of our own credentials. */
  readonly forwardsSignIns?: boolean;
}

/**
 * Functions traced by X-Ray: those on the path of Nova's requests and of binds. The others would
 * add a trace for each heartbeat and each compared device: at 10,000 hosts that costs more than
 * everything else.
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

/**
 * Functions whose new version takes over step by step: a build of Nova's fails with their faults.
 * Their callers use an alias.
 */
export const shifted = [
  'accelerator-requests',
  'device-profiles',
  'changes',
  'announcements',
] as const satisfies readonly FunctionName[];
export type ShiftedName = (typeof shifted)[number];

export const isShifted = (name: FunctionName): name is ShiftedName =>
  (shifted as readonly FunctionName[]).includes(name);

/**
 * Functions that call OpenStack share our own token, which one container stores for the others.
 */
export const ownTokenAccess = {
  'service-tokens': ['GetItem', 'PutItem'],
} as const satisfies Access['tables'];

/** Records of calls: a function adds to the history, and can neither read nor change it. */
const recorded = { history: ['PutItem'] } as const satisfies Access['tables'];

const listed = ['by-kind', 'by-created'] as const;

/**
 * Functions that end a bind or a release write to its ARQs, the instance, the release and the
 * job.
 */
const wholeRows = ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem', 'DeleteItem'] as const;

/** The note of a component's program is written only while the program is stored. */
const endingPrograms = [...wholeRows, 'ConditionCheckItem'] as const;

/** Finishing a bind checks the boot of its host; a region gets the status of its device. */
const finishing = ['Query', 'UpdateItem', 'ConditionCheckItem'] as const;

export const access: Readonly<Record<FunctionName, Access>> = {
  // It answers open documents, and unknown paths: 401 without a token, 404 with any token, because
  // it cannot ask Keystone about one.
  versions: { callsOpenStack: false },
  'device-profiles': {
    tables: {
      ...recorded,
      // Nova is given an alternative, and it is promised to no other server.
      'device-profiles': ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem', 'DeleteItem'],
      // The quota of the server's project.
      arqs: ['GetItem'],
    },
    indexes: { 'device-profiles': listed, arqs: ['by-profile'] },
    callsOpenStack: true,
  },
  'accelerator-requests': {
    tables: {
      ...recorded,
      // A bind settles the promise of its alternative.
      'device-profiles': ['GetItem', 'UpdateItem'],
      arqs: wholeRows,
      // A claim reads a provider's partition and marks the handle; the reports write the
      // inventory.
      inventory: ['Query', 'UpdateItem'],
    },
    // The first creation of a project counts the unbound ARQs of an earlier release.
    indexes: { arqs: ['by-kind', 'by-project', 'by-unbound'] },
    callsOpenStack: true,
  },
  devices: {
    indexes: { inventory: listed },
    // An admin frees quarantined handles by force, or has the host clean up restored ones.
    tables: {
      ...recorded,
      arqs: ['GetItem', 'PutItem', 'DeleteItem', 'ConditionCheckItem'],
      inventory: ['Query', 'UpdateItem'],
    },
    callsOpenStack: true,
  },
  deployables: {
    indexes: { inventory: listed },
    // An admin has a region programmed; its handles cannot be claimed meanwhile.
    tables: { ...recorded, arqs: ['PutItem'], inventory: ['Query', 'UpdateItem'] },
    callsOpenStack: true,
  },
  attributes: {
    indexes: { inventory: ['by-kind'] },
    tables: { ...recorded, inventory: ['GetItem', 'Query', 'UpdateItem'] },
    callsOpenStack: true,
  },
  operator: {
    // A quota that is set counts the ARQs that the project has; usage, those that last.
    indexes: {
      inventory: ['by-kind', 'by-due'],
      'device-profiles': ['by-kind'],
      arqs: ['by-kind', 'by-project', 'by-due'],
    },
    // A host that is gone for good is forgotten; no host confirms its releases.
    tables: {
      inventory: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem', 'DeleteItem'],
      arqs: wholeRows,
      // A rename puts the rows of both names.
      'device-profiles': ['GetItem', 'PutItem'],
      history: ['GetItem', 'Query', 'PutItem'],
    },
    jobs: ['CreateJob'],
    // Devices to compare with Placement.
    sendsTo: ['provider-syncs'],
    callsOpenStack: true,
  },
  // All that it reads is beside its bundle.
  console: { callsOpenStack: false, forwardsSignIns: true },

  changes: { sendsTo: ['nova-events', 'host-jobs', 'provider-syncs'], callsOpenStack: false },
  // It adds to the history, and can neither read nor change it; and it marks incidents.
  announcements: {
    tables: { history: ['PutItem'], inventory: ['GetItem', 'UpdateItem'] },
    announces: true,
    sendsTo: ['late-events'],
    callsOpenStack: false,
  },
  'late-events': { announces: true, callsOpenStack: false },
  'nova-events': {
    // A server that Nova has deleted during its build is released here.
    tables: { arqs: wholeRows, inventory: ['Query', 'UpdateItem'] },
    callsOpenStack: true,
  },
  'host-jobs': {
    // A bind that AWS throttles waits beside its host's row.
    tables: { arqs: endingPrograms, inventory: [...finishing, 'DeleteItem'] },
    jobs: ['CreateJob', 'CancelJob', 'DescribeJobExecution'],
    messagesHosts: true,
    // Work that is sent by a message is looked after.
    sendsTo: ['host-jobs'],
    stagesImages: true,
    callsOpenStack: true,
  },
  'job-events': {
    // An instance that could not be reprovisioned with the others gets a job of its own.
    tables: { arqs: endingPrograms, inventory: [...finishing, 'DeleteItem'] },
    callsOpenStack: false,
  },
  'inventory-reports': {
    // A reboot of the host starts the reprovisioning of its instances' devices. A card may have
    // come from another host.
    tables: {
      arqs: endingPrograms,
      inventory: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
    },
    indexes: { inventory: ['by-card'] },
    jobs: ['CreateJob'],
    // An agent that has lost its state asks which cards were offered.
    messagesHosts: true,
    callsOpenStack: false,
  },
  'host-presence': {
    tables: { inventory: ['Query', 'UpdateItem'] },
    certifiesHosts: true,
    callsOpenStack: false,
  },
  'provider-syncs': {
    // A device with missing rows is marked, so that its host describes it again. Restored handles
    // are cleaned by their host before they can be claimed.
    tables: { inventory: [...finishing, 'DeleteItem'], arqs: ['PutItem'] },
    // A provider that has left its tree is deleted later.
    sendsTo: ['provider-syncs'],
    callsOpenStack: true,
  },
  sweep: {
    // Work whose job has ended is finished here, as by the job's event.
    tables: {
      arqs: endingPrograms,
      inventory: [...finishing, 'DeleteItem', 'GetItem', 'BatchGetItem', 'PutItem'],
      // It counts binds, and stores what it has measured of the fleet.
      history: ['GetItem', 'Query', 'PutItem'],
    },
    // A program of an operator whose deadline has passed is cancelled.
    jobs: ['DescribeJobExecution', 'CancelJob'],
    // The reaper reads all deployables, and asks Placement and Nova about the instances that hold
    // them.
    // A recount of a quota reads the ARQs of its project.
    indexes: {
      arqs: ['by-due', 'by-project'],
      inventory: ['by-kind'],
      'device-profiles': ['by-kind'],
    },
    // Devices to compare with Placement; and reprovisioning whose message was lost.
    sendsTo: ['host-jobs', 'provider-syncs'],
    callsOpenStack: true,
  },
  'release-check': { checks: shifted, callsOpenStack: false },
};

export type KeyAction = 'Decrypt' | 'GenerateDataKey';

const consumers = new Set<FunctionName>([...queues.map(({ name }) => name), ...streamConsumers]);

/**
 * Calls of KMS that AWS makes for the function where data are under an operator's key. Reads and
 * writes of rows decrypt the table's key; messages and images get new data keys. Each consumer
 * sends to its dead-letter queue.
 */
export function keyActionsOf(name: FunctionName): readonly KeyAction[] {
  const { tables, indexes, sendsTo, stagesImages, callsOpenStack } = access[name];
  if (consumers.has(name) || sendsTo || stagesImages) return ['Decrypt', 'GenerateDataKey'];
  return tables || indexes || callsOpenStack ? ['Decrypt'] : [];
}
