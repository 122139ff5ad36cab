// Cyborg's tables as its database has them. Only releases whose tables are known are read:
// https://opendev.org/openstack/cyborg/src/branch/master/cyborg/db/sqlalchemy/models.py

import * as z from 'zod';
import { NotMysqlXml, readMysqlXml, type XmlRow } from './mysql-xml.ts';

/** The last migration of a database → the releases that have it. */
export const revisions: Readonly<Record<string, string>> = {
  '4cc1d79978fc': 'Wallaby to Antelope',
  '6c77bd6afea5': 'Bobcat and later',
};

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
  checkRevision(rows(tables, 'alembic_version'));
  return {
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

function checkRevision(revisionRows: readonly RowOf<'alembic_version'>[]): void {
  const [revision] = revisionRows;
  const supported = Object.entries(revisions).map(([each, releases]) => `${each} (${releases})`);
  if (revisionRows.length === 1 && revision && Object.hasOwn(revisions, revision.version_num))
    return;
  const named = revisionRows.map(({ version_num }) => version_num).join(', ') || 'none';
  throw new TablesRefused(
    `is of a database with the migration ${named}; it must be ${supported.join(' or ')}`,
  );
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
