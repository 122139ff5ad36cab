// The table of tables: `infra/` deploys it, `local/` creates it in the engine.
//
//   arqs             ARQ#<arq uuid>                   an accelerator request
//                    INSTANCE#<instance uuid>         the binding of one instance, with its ARQs
//                    JOB#<uuid of a job's id>         the instances that a job is for
//                    RELEASE#<release id>             handles that a host still has to clean up
//                    PROGRAM#<program id>             a region that an operator has programmed
//                    QUOTA#<project id>               a project's limits, what is left of them
//                    UNBOUND#<project id>#<part>      places of a project's unbound ARQs
//                    REAPER                           how far the reaper has come
//                    REAPER_WAITS                     what waits for an operator
//                    REAPER_NEVER_BUILT               how many servers that were deleted during
//                                                     their build have been released this minute
//   inventory        HOST#<hostname>  HOST            boot id, epoch, sequence, presence, lease
//                    HOST#<hostname>  SUMMARY         what changes seldom of the host
//                    HOST#<hostname>  DEVICE#<uuid>   a device
//                    HOST#<hostname>  WAITING#<bind>  a bind whose job AWS has throttled
//                    RP#<provider>    DEPLOYABLE      what Placement calls a resource provider
//                    RP#<provider>    HANDLE#<uuid>   an attach handle, and its claim or release
//                    HOLDS            HOLDS           which devices take no new binds, and why
//                    INCIDENTS#host   MARK#<hostname> a host that may have an incident
//                    INCIDENTS#device MARK#<uuid>     a device that may have one
//                    INCIDENTS        ROUNDS          the sweep's last rounds over these marks
//                    MEASURED         HOSTS#<hostname> hosts up to this one, as measured for the
//                                                     capacity of the cloud
//                                     CLAIMS#<hostname>  claims of their handles, for its usage
//                    RESTORED         RESTORED        the moment of the last restored backup
//   device-profiles  NAME#<name>                      the profile, or whose name it was before
//                    UUID#<uuid>                      its name; each uuid exists once, too
//                    DELETED#<uuid>                   which profiles a request deleted; for a day
//                    PROMISES#<name>#<revision>       which alternatives Nova was given lately
//   history          <SUBJECT>#<key>  <time>#<id>     a record of a change or of a call;
//                                                     core/domain/history/history.ts
//                    BINDS#hours  <hour>              how many binds succeeded and failed
//                    USAGE#hours    <hour>#<row>      the usage of claims that ended in that hour
//                    USAGE#days     <day>#<row>       and on that day
//                    FLEET#metrics  <part>            what the sweep has measured of all hosts
//   service-tokens   OWN#<hash>                       our own token at Keystone, sealed
//
// Attributes are snake_case at every level; each kind of row has a zod schema in a `*-rows.ts`
// file.
//
// A bind or a release reads by these keys alone, with consistent reads: the ARQs, one partition
// per provider and the instance's row, however many other rows are stored. The one index read on
// by-unbound has the unbound ARQs of releases that wrote `unbound_project`.
//
// Indexes serve listings, deadlines and that limit only. The indexes of ARQs hold keys alone, so
// that a change of state costs nothing in them; ARQ uuids are ordered by time, so one index gives
// both sort orders of the API. Devices change seldom: their indexes hold whole rows, and DynamoDB
// filters them.
//
//   by-kind      kind, uuid            GET /{resource}s sorted by uuid; GET /{resource}s/{uuid};
//                                      projects with a quota
//   by-created   kind, created_key     GET /{resource}s sorted by created_at
//   by-project   project_id, uuid      a tenant's ARQs; recounts of its quota
//   by-profile   profile_shard, uuid   whether a profile is in use
//   by-unbound   unbound_project, uuid sparse: a project's unbound ARQs, to count them
//   by-due       due, due_at           sparse: rows with a deadline, for the sweep
//   by-card      card, uuid            sparse: devices by serial number, to know a moved card
//
// `kind` of ARQs, `due` and `profile_shard` are sharded (shards.ts).

interface IndexDefinition {
  readonly name: string;
  readonly partitionKey: string;
  readonly sortKey: string;
  readonly projection: 'ALL' | 'KEYS_ONLY' | readonly string[];
}

export interface TableDefinition {
  /** Without the stage; see {@link tableName}. */
  readonly name: 'arqs' | 'inventory' | 'device-profiles' | 'history' | 'service-tokens';
  /** Key attributes are all strings: `pk` always, `sk` where a partition holds several rows. */
  readonly hasSortKey: boolean;
  readonly indexes: readonly IndexDefinition[];
  /** The stream carries both images of every change to the stream consumers. */
  readonly hasStream: boolean;
  /** Written once and read seldom: DynamoDB stores it for less, and writes cost a quarter more. */
  readonly isSeldomRead?: true;
}

const byDue = {
  name: 'by-due',
  partitionKey: 'due',
  sortKey: 'due_at',
  projection: 'KEYS_ONLY',
} as const;

function byUuid(
  name: string,
  partitionKey: string,
  projection: IndexDefinition['projection'] = 'KEYS_ONLY',
): IndexDefinition {
  return { name, partitionKey, sortKey: 'uuid', projection };
}

function byKind(projection: IndexDefinition['projection']): IndexDefinition {
  return byUuid('by-kind', 'kind', projection);
}

const byCreated: IndexDefinition = {
  name: 'by-created',
  partitionKey: 'kind',
  sortKey: 'created_key',
  projection: 'ALL',
};
/** Devices of hosts with one serial number. A card moves slower than an index lags. */
const byCard = byUuid('by-card', 'card');
const byProject = byUuid('by-project', 'project_id');
const byUnbound = byUuid('by-unbound', 'unbound_project');
const byProfile = byUuid('by-profile', 'profile_shard');

export const tables = [
  {
    name: 'arqs',
    hasSortKey: false,
    indexes: [byKind('KEYS_ONLY'), byProject, byUnbound, byProfile, byDue],
    hasStream: true,
  },
  {
    name: 'inventory',
    hasSortKey: true,
    indexes: [byKind('ALL'), byCreated, byDue, byCard],
    hasStream: true,
  },
  {
    name: 'device-profiles',
    hasSortKey: false,
    indexes: [byKind('ALL'), byCreated],
    hasStream: true,
  },
  {
    name: 'history',
    hasSortKey: true,
    indexes: [],
    hasStream: false,
    isSeldomRead: true,
  },
  {
    name: 'service-tokens',
    hasSortKey: false,
    indexes: [],
    hasStream: false,
  },
] as const satisfies readonly TableDefinition[];

export type TableName = (typeof tables)[number]['name'];

/** The table's name in one stage, e.g. `dev-arqs`. */
export function tableName(stage: string, name: TableName): string {
  return `${stage}-${name}`;
}
