// The command that imports a Cyborg, as docs/import.md has it, and the one that goes back.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { run } from '#test/agent/agent-process.ts';
import {
  aCyborg,
  type CyborgDump,
  cyborgHost,
  cyborgProvider,
  cyborgProviderName,
  serverOf,
  xmlOf,
} from '#test/support/cyborg-tables.ts';
import { directoryPerFile, perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const node = '00000000-0000-4000-8000-00000000c0de';
const world = perFile(startWorld);
const directory = directoryPerFile();

beforeAll(async () => {
  const { placement } = world.deps.clients;
  await placement.createProvider({ uuid: node, name: cyborgHost });
  await placement.createProvider({
    uuid: cyborgProvider,
    name: cyborgProviderName,
    parentUuid: node,
  });
  await placement.putInventories(cyborgProvider, 0, { FPGA: { total: 4, max_unit: 4 } });
});

function fileOf(dump: Partial<CyborgDump>): string {
  const file = join(directory, 'cyborg.xml');
  writeFileSync(file, xmlOf(dump));
  return file;
}

async function ops(words: readonly string[], variables: Readonly<Record<string, string>> = {}) {
  const environment = { ...(process.env as Record<string, string>), ...variables };
  const command = run('operate/cyborg-ops.ts', environment, words);
  const code = await command.exited();
  return { code, said: command.output() };
}

describe('cyborg-ops import', () => {
  it('prints statements, and takes no other words', async () => {
    expect(await ops(['import', 'queries'])).toEqual({
      code: 0,
      said: expect.stringContaining('SELECT * FROM extended_accelerator_requests;'),
    });
    expect(await ops(['import', 'nova'])).toEqual({
      code: 2,
      said: expect.stringContaining('it must be one of cyborg, nova-pci, queries.'),
    });
    expect(await ops(['import', 'cyborg'])).toMatchObject({
      code: 2,
      said: expect.stringContaining('import cyborg needs --tables'),
    });
  });

  it('refuses a database that is half migrated, in one sentence', async () => {
    const file = fileOf({ ...aCyborg(), alembic_version: [{ version_num: 'b47c8f2d1e3a' }] });
    const { code, said } = await ops(['import', 'cyborg', '--tables', file, '--apply']);
    expect(code).toBe(1);
    expect(said.trim()).toMatch(/^\S+cyborg\.xml is of a database that is half migrated: /);
    expect(said.trim().split('\n')).toHaveLength(1);
    expect((await world.deps.store.inventory.host(cyborgHost)).devices).toEqual([]);
  });

  it('refuses a catalog without Placement, in one sentence', async () => {
    const words = ['import', 'cyborg', '--tables', fileOf(aCyborg()), '--apply'];
    const { code, said } = await ops(words, { CYBORG_OS_REGION_NAME: 'elsewhere' });
    expect(code).toBe(2);
    expect(said).toMatch(/placement/);
    expect(said).not.toMatch(/\n\s+at /);
    expect((await world.deps.store.inventory.host(cyborgHost)).devices).toEqual([]);
  });

  it('writes nothing while something is refused or a skip is unknown', async () => {
    const dump = aCyborg({ servers: 0 });
    Object.assign(dump.device_profiles[0] ?? {}, { profile_json: '{"groups": []}' });
    const words = ['import', 'cyborg', '--tables', fileOf(dump), '--apply'];
    const refused = await ops(words);
    expect(refused.code).toBe(1);
    expect(refused.said).toMatch(/refuse {2}profile {2}fpga .*at least one group/);
    expect(refused.said).toMatch(/Nothing was written: 1 refused/);
    const unknown = await ops([...words, '--skip', 'fpgas']);
    expect(unknown).toMatchObject({ code: 2, said: expect.stringContaining('--skip fpgas') });
    expect((await world.deps.store.inventory.host(cyborgHost)).devices).toEqual([]);
    const skipped = await ops([...words, '--skip', 'fpga']);
    expect(skipped).toMatchObject({ code: 0, said: expect.stringContaining('Imported 1;') });
    expect((await world.deps.store.inventory.host(cyborgHost)).devices).toHaveLength(1);
  });

  it('leaves out servers that Nova no longer has, and prints the plan as JSON', async () => {
    const words = ['import', 'cyborg', '--tables', fileOf(aCyborg()), '--json'];
    const { code, said } = await ops(words);
    expect(code).toBe(0);
    expect(JSON.parse(said)).toContainEqual(
      expect.objectContaining({ what: 'server', name: serverOf(1), verdict: 'skip' }),
    );
  });
});

describe('an unknown migration', () => {
  const dump = { ...aCyborg(), alembic_version: [{ version_num: 'c0ffee000000' }] };

  it.each(['import', 'export'])('is read by %s, which warns', async (verb) => {
    const { code, said } = await ops([verb, 'cyborg', '--tables', fileOf(dump)]);
    expect(code).toBe(0);
    expect(said).toContain('The database has the migration c0ffee000000, which this command does');
  });
});

describe('cyborg-ops export', () => {
  it('prints statements that end what is gone', async () => {
    const { code, said } = await ops(['export', 'cyborg', '--tables', fileOf(aCyborg())]);
    expect(code).toBe(0);
    expect(said).toContain('ARQs: 0 kept, 2 ended, 0 added; profiles: 1 changed');
    expect(said).toContain('UPDATE attach_handles SET in_use = 0 WHERE id = 1;');
    expect(said).toMatch(/START TRANSACTION;.*COMMIT;/s);
  });
});
