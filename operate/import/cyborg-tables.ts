// Cyborg's tables as its database has them. The columns decide whether they are read, and not the
// name of the last migration:
// https://opendev.org/openstack/cyborg/src/branch/master/cyborg/db/sqlalchemy/models.py

import * as z from 'zod';
import { NotMysqlXml, readMysqlXml, type XmlRow } from './mysql-xml.ts';

/** Known migrations in their order, with the column that each adds to the devices. */
const migrations: readonly { readonly revision: string; readonly adds?: string }[] = [
  // Wallaby to Antelope, such as 9.0.0.
  { revision: '4cc1d79978fc' },
  // Bobcat to 2026.1.
  { revision: '6c77bd6afea5', adds: 'status' },
  { revision: '9625668549b5' },
  { revision: 'a35b4295a0e5' },
  // 17.0.0 (2026.2).
  { revision: 'b47c8f2d1e3a', adds: 'device_state' },
];
/** The only columns that a table may lack. */
const laterColumns = migrations.flatMap(({ adds }) => adds ?? []);

const id = z.coerce.number().int();
const maybeId = z
  .string()
  .nullable()
  .transform((text) => (text === null ? undefined : Number(text)));
const maybe = z
  .string()
  .nullish()
  .transform((text) => text ?? undefined);
/** MySQL prints a time in UTC without its zone. */
const time = z
  .string()
  .nullable()
  .transform((text) => {
    const ms = Date.parse(`${(text ?? '').replace(' ', 'T')}Z`);
    return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
  });
const flag = z
  .string()
  .nullable()
  .transform((text) => text === '1');
const times = { created_at: time, updated_at: time };
const entity = { id, uuid: z.string() };

const schemas = {
  alembic_version: z.object({ version_num: z.string() }),
  device_profiles: z.object({
    ...entity,
    ...times,
    name: z.string(),
    profile_json: z.string(),
    description: maybe,
  }),
  devices: z.object({
    ...entity,
    ...times,
    type: z.string(),
    vendor: z.string(),
    model: z.string(),
    std_board_info: maybe,
    vendor_board_info: maybe,
    hostname: z.string(),
    status: maybe,
    device_state: maybe,
  }),
  controlpath_ids: z.object({ id, device_id: id, cpid_type: z.string(), cpid_info: z.string() }),
  deployables: z.object({
    ...entity,
    ...times,
    name: z.string(),
    num_accelerators: id,
    device_id: id,
    rp_uuid: maybe,
    driver_name: maybe,
    bitstream_id: maybe,
  }),
  attributes: z.object({
    ...entity,
    ...times,
    deployable_id: id,
    key: z.string(),
    value: z.string(),
  }),
  attach_handles: z.object({
    ...entity,
    deployable_id: id,
    in_use: flag,
    attach_type: z.string(),
    attach_info: z.string(),
  }),
  extended_accelerator_requests: z.object({
    ...entity,
    ...times,
    project_id: maybe,
    state: z.string(),
    device_profile_id: id,
    device_profile_group_id: id,
    hostname: maybe,
    device_rp_uuid: maybe,
    instance_uuid: maybe,
    attach_handle_id: maybeId,
  }),
};
type TableName = keyof typeof schemas;
type RowOf<Name extends TableName> = z.output<(typeof schemas)[Name]>;

export const tableNames = Object.keys(schemas) as readonly TableName[];

export interface CyborgTables {
  readonly profiles: readonly RowOf<'device_profiles'>[];
  readonly devices: readonly RowOf<'devices'>[];
  readonly controlPaths: readonly RowOf<'controlpath_ids'>[];
  readonly deployables: readonly RowOf<'deployables'>[];
  readonly attributes: readonly RowOf<'attributes'>[];
  readonly handles: readonly RowOf<'attach_handles'>[];
  readonly arqs: readonly RowOf<'extended_accelerator_requests'>[];
  /** Devices have the column device_state. */
  readonly hasDeviceState: boolean;
  /** Sentences for the operator. */
  readonly warnings: readonly string[];
}
export type CyborgDevice = CyborgTables['devices'][number];
export type CyborgDeployable = CyborgTables['deployables'][number];
export type CyborgHandle = CyborgTables['handles'][number];
export type CyborgArq = CyborgTables['arqs'][number];

/** The statements whose answers are read: one snapshot of all tables, which changes nothing. */
export function queries(): string {
  return [
    'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;',
    'START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;',
    ...tableNames.map((name) => `SELECT * FROM ${name};`),
    'COMMIT;',
  ].join('\n');
}

/** The tables cannot be read; the message is a clause that completes "<file> ...". */
export class TablesRefused extends Error {
  override readonly name = 'TablesRefused';
}

/** @throws TablesRefused */
export function readTables(text: string): CyborgTables {
  const tables = parsed(text);
  const missing = tableNames.filter((name) => !tables.has(name));
  if (missing.length > 0) {
    throw new TablesRefused(
      `lacks the tables ${missing.join(', ')}: it must be what "mysql --xml" prints for the statements of "cyborg-ops import queries"`,
    );
  }
  const revision = onlyRevision(rows(tables, 'alembic_version'));
  checkColumns(tables, revision);
  checkMigration(tables, revision);
  const isKnown = migrations.some((each) => each.revision === revision);
  return {
    hasDeviceState: columnsOf(tables, 'devices')?.has('device_state') ?? false,
    warnings: isKnown ? [] : [unknownMigration(revision)],
    profiles: rows(tables, 'device_profiles'),
    devices: rows(tables, 'devices'),
    controlPaths: rows(tables, 'controlpath_ids'),
    deployables: rows(tables, 'deployables'),
    attributes: rows(tables, 'attributes'),
    handles: rows(tables, 'attach_handles'),
    arqs: rows(tables, 'extended_accelerator_requests'),
  };
}

function parsed(text: string): Map<string, XmlRow[]> {
  try {
    return readMysqlXml(text);
  } catch (error) {
    if (!(error instanceof NotMysqlXml)) throw error;
    throw new TablesRefused(`is not what "mysql --xml" prints: ${error.message}`);
  }
}

function onlyRevision(revisions: readonly RowOf<'alembic_version'>[]): string {
  const [revision] = revisions;
  if (revisions.length === 1 && revision) return revision.version_num;
  throw new TablesRefused(
    `is of a database that is half migrated: alembic_version has ${revisions.length} rows instead of one; ${completeFirst}`,
  );
}

const completeFirst = 'complete the migration of Cyborg, and print the tables again';

function unknownMigration(revision: string): string {
  return `The database has the migration ${revision}, which this command does not know. It reads the columns that it knows: compare the plan with Cyborg.`;
}

/** Undefined for a table without rows: the client prints no columns of it. */
function columnsOf(
  tables: ReadonlyMap<string, readonly XmlRow[]>,
  name: TableName,
): ReadonlySet<string> | undefined {
  const [row] = tables.get(name) ?? [];
  return row && new Set(Object.keys(row));
}

function checkColumns(tables: ReadonlyMap<string, readonly XmlRow[]>, revision: string): void {
  const missing = tableNames.flatMap((name) => {
    const columns = columnsOf(tables, name);
    if (!columns) return [];
    return Object.keys(schemas[name].shape)
      .filter((column) => !columns.has(column) && !laterColumns.includes(column))
      .map((column) => `${name}.${column}`);
  });
  if (missing.length === 0) return;
  throw new TablesRefused(
    `lacks the columns ${missing.join(', ')}, which the import needs: its database has the migration ${revision}`,
  );
}

/** A migration that was interrupted has changed the table or the version, and not both. */
function checkMigration(tables: ReadonlyMap<string, readonly XmlRow[]>, revision: string): void {
  const columns = columnsOf(tables, 'devices');
  const reached = migrations.findIndex((each) => each.revision === revision);
  if (!columns || reached < 0) return;
  for (const [index, { revision: since, adds }] of migrations.entries()) {
    if (adds === undefined || columns.has(adds) === index <= reached) continue;
    const verb = columns.has(adds) ? 'has' : 'lacks';
    throw new TablesRefused(
      `is of a database that is half migrated: alembic_version is ${revision}, and the table devices ${verb} the column ${adds} of migration ${since}; ${completeFirst}`,
    );
  }
}

function rows<Name extends TableName>(
  tables: ReadonlyMap<string, readonly XmlRow[]>,
  name: Name,
): RowOf<Name>[] {
  return (tables.get(name) ?? []).map((row, index) => {
    const read = schemas[name].safeParse(row);
    if (read.success) return read.data as RowOf<Name>;
    const faults = read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new TablesRefused(`has an invalid row ${index + 1} in ${name}: ${faults.join('; ')}`);
  });
}
