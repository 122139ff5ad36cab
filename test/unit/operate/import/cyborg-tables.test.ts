// Cyborg's tables as the client of its database prints them.

import { expect, it } from 'vitest';
import { queries, readTables } from '#operate/import/cyborg-tables.ts';
import { aCyborg, type CyborgDump, xmlOf } from '#test/support/cyborg-tables.ts';

it('reads NULL, empty texts and what XML escapes', () => {
  const dump = aCyborg();
  Object.assign(dump.device_profiles[0] ?? {}, { description: 'a <b> & "c"' });
  Object.assign(dump.devices[0] ?? {}, { model: '', vendor_board_info: null });
  const tables = readTables(xmlOf(dump));
  expect(tables.profiles[0]?.description).toBe('a <b> & "c"');
  expect(tables.devices[0]).toMatchObject({ model: '', vendor_board_info: undefined });
  expect(tables.arqs[0]).toMatchObject({ id: 1, project_id: undefined, attach_handle_id: 1 });
  expect(tables.devices[0]?.created_at).toBe('2026-06-01T10:00:00.000Z');
});

it('reads a table that has no rows, and one that has no status of devices', () => {
  const dump = aCyborg({ servers: 0 });
  dump.alembic_version = [{ version_num: '4cc1d79978fc' }];
  delete dump.devices[0]?.status;
  const tables = readTables(xmlOf(dump));
  expect(tables.arqs).toEqual([]);
  expect(tables.devices[0]?.status).toBeUndefined();
});

it('reads the states of devices in a database of 17.0.0', () => {
  const tables = readTables(xmlOf(aCyborg({ state: 'cleaning' })));
  expect(tables).toMatchObject({ hasDeviceState: true, warnings: [] });
  expect(tables.devices[0]?.device_state).toBe('cleaning');
  expect(readTables(xmlOf(aCyborg({ state: null }))).devices[0]?.device_state).toBeUndefined();
  expect(readTables(xmlOf(aCyborg())).hasDeviceState).toBe(false);
});

it('reads an unknown migration by its columns, and warns', () => {
  const dump = aCyborg({ state: 'available' });
  dump.alembic_version = [{ version_num: 'c0ffee000000' }];
  Object.assign(dump.devices[0] ?? {}, { colour: 'red' });
  const tables = readTables(xmlOf(dump));
  expect(tables.warnings).toEqual([expect.stringContaining('the migration c0ffee000000, which')]);
  expect(tables).toMatchObject({ hasDeviceState: true, devices: [{ device_state: 'available' }] });
});

/** A database whose alembic_version names another migration than its columns are of. */
function halfMigrated(dump: CyborgDump, revision: string): string {
  return xmlOf({ ...dump, alembic_version: [{ version_num: revision }] });
}

const withoutStatus = aCyborg();
delete withoutStatus.devices[0]?.status;
const [path] = aCyborg().controlpath_ids;
const versions = [{ version_num: '6c77bd6afea5' }, { version_num: 'b47c8f2d1e3a' }];

it.each([
  ['no XML', 'version_num\n6c77bd6afea5', /has no table of Cyborg/],
  ['the end is missing', xmlOf(aCyborg()).slice(0, -20), /ends in the middle of a table/],
  ['a table is missing', xmlOf({ alembic_version: [] }), /lacks the tables device_profiles, /],
  [
    'a column is missing',
    xmlOf({ ...aCyborg(), controlpath_ids: [{ id: 1, device_id: 1 }] }),
    /lacks the columns controlpath_ids\.cpid_type, controlpath_ids\.cpid_info, which the import needs/,
  ],
  [
    'a column that rows may have as NULL is missing',
    xmlOf(aCyborg()).replaceAll('name="rp_uuid"', 'name="other"'),
    /lacks the columns deployables\.rp_uuid,/,
  ],
  [
    'a cell is not valid',
    xmlOf({ ...aCyborg(), controlpath_ids: [{ ...path, device_id: 'x' }] }),
    /invalid row 1 in controlpath_ids: device_id/,
  ],
  [
    'the version is newer than the column device_state',
    halfMigrated(aCyborg(), 'b47c8f2d1e3a'),
    /half migrated: alembic_version is b47c8f2d1e3a, and the table devices lacks the column device_state of migration b47c8f2d1e3a/,
  ],
  [
    'the column device_state is newer than the version',
    halfMigrated(aCyborg({ state: 'available' }), 'a35b4295a0e5'),
    /half migrated: alembic_version is a35b4295a0e5, and the table devices has the column device_state/,
  ],
  [
    'the version is newer than the column status',
    halfMigrated(withoutStatus, '9625668549b5'),
    /half migrated: alembic_version is 9625668549b5, and the table devices lacks the column status/,
  ],
  [
    'two versions',
    xmlOf({ ...aCyborg({ state: null }), alembic_version: versions }),
    /half migrated: alembic_version has 2 rows instead of one/,
  ],
  [
    'no version',
    xmlOf({ ...aCyborg(), alembic_version: [] }),
    /half migrated: alembic_version has 0 rows/,
  ],
])('refuses a file: %s', (_, text, sentence) => {
  expect(() => readTables(text)).toThrow(sentence);
});

it('prints statements that only read', () => {
  expect(queries()).toMatch(/READ ONLY;/);
  expect(queries().match(/^(?!SET SESSION|START|SELECT|COMMIT)/gm)).toBeNull();
});
