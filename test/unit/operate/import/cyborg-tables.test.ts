// Cyborg's tables as the client of its database prints them.

import { expect, it } from 'vitest';
import { queries, readTables } from '#operate/import/cyborg-tables.ts';
import { aCyborg, xmlOf } from '#test/support/cyborg-tables.ts';

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

it.each([
  ['no XML', 'version_num\n6c77bd6afea5', /has no table of Cyborg/],
  ['the end is missing', xmlOf(aCyborg()).slice(0, -20), /ends in the middle of a table/],
  ['a table is missing', xmlOf({ alembic_version: [] }), /lacks the tables device_profiles, /],
  [
    'another version',
    xmlOf({ ...aCyborg(), alembic_version: [{ version_num: '899cead40bc9' }] }),
    /migration 899cead40bc9; it must be 4cc1d79978fc \(Wallaby to Antelope\) or 6c77bd6afea5/,
  ],
  [
    'a column is missing',
    xmlOf({ ...aCyborg(), controlpath_ids: [{ id: 1 }] }),
    /invalid row 1 in controlpath_ids: /,
  ],
])('refuses a file: %s', (_, text, sentence) => {
  expect(() => readTables(text)).toThrow(sentence);
});

it('prints statements that only read', () => {
  expect(queries()).toMatch(/READ ONLY;/);
  expect(queries().match(/^(?!SET SESSION|START|SELECT|COMMIT)/gm)).toBeNull();
});
