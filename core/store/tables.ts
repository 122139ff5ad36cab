// The table of tables: `infra/` deploys it, `local/` creates it in the engine.
//
//   arqs              ARQ#<arq uuid>                      an accelerator request
//                     INSTANCE#<instance uuid>            what is bound for one instance, as one
//   inventory         HOST#<hostname>   HOST              boot id, epoch, sequence, presence, lease
//                     HOST#<hostname>   DEVICE#<uuid>     a device
//                     RP#<provider>     DEPLOYABLE        what Placement calls a resource provider
//                     RP#<provider>     HANDLE#<uuid>     an attach handle, and whose it is
//   device-profiles   NAME#<name>                         the profile
//                     UUID#<uuid>                         its name (a uuid is taken once, too)
//
// All that Nova's calls touch is found by these keys alone, with consistent reads: a bind needs its
// ARQs, one partition per provider and the instance's row, however many others are stored.
//
// Indexes serve listings and deadlines only, and hold keys only, so that a change of state costs
// nothing in them. ARQ uuids are ordered by time, so one index gives both sort orders of the API.
//
//   by-kind      kind, uuid            GET /{noun}s sorted by uuid; GET /{noun}s/{uuid}
//   by-created   kind, created_key     GET /{noun}s sorted by created_at
//   by-project   project_id, uuid      a tenant's ARQs
//   by-due       due, due_at           sparse: rows with a deadline; the sweep reads it

export interface IndexDefinition {
  readonly name: string;
  readonly partitionKey: string;
  readonly sortKey: string;
}

export interface TableDefinition {
  /** Without the stage; see {@link tableName}. */
  readonly name: 'arqs' | 'inventory' | 'device-profiles';
  /** Key attributes are all strings: `pk` always, `sk` where a partition holds several rows. */
  readonly hasSortKey: boolean;
  readonly indexes: readonly IndexDefinition[];
  /** Both images of every change go to the stream consumer: the outbox. */
  readonly hasStream: boolean;
}

const byKind: IndexDefinition = { name: 'by-kind', partitionKey: 'kind', sortKey: 'uuid' };
const byCreated: IndexDefinition = {
  name: 'by-created',
  partitionKey: 'kind',
  sortKey: 'created_key',
};
const byProject: IndexDefinition = {
  name: 'by-project',
  partitionKey: 'project_id',
  sortKey: 'uuid',
};
const byDue: IndexDefinition = { name: 'by-due', partitionKey: 'due', sortKey: 'due_at' };

export const tables = [
  { name: 'arqs', hasSortKey: false, indexes: [byKind, byProject, byDue], hasStream: true },
  { name: 'inventory', hasSortKey: true, indexes: [byKind, byCreated, byDue], hasStream: true },
  { name: 'device-profiles', hasSortKey: false, indexes: [byKind, byCreated], hasStream: false },
] as const satisfies readonly TableDefinition[];

export type TableName = (typeof tables)[number]['name'];

/** The table's name in one stage, e.g. `dev-arqs`. */
export function tableName(stage: string, name: TableName): string {
  return `${stage}-${name}`;
}
