// The command that restores a backup, as docs/operations/restore.md has it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { backupStore } from '#core/store/backups/backups.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { run } from '#test/agent/agent-process.ts';
import { backUpTables } from '#test/support/aws/backup.ts';
import { aDevice, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld } from '#test/support/world.ts';

const world = perFile(startWorld);

beforeAll(() => applyReport(world.deps, 'cmp1', aReport([aDevice()]), Date.now()));
async function restore(...options: readonly string[]): Promise<[number | null, string]> {
  const command = run('operate/cyborg-ops.ts', process.env as Record<string, string>, [
    'restore',
    ...options,
  ]);
  const code = await command.exited();
  return [code, command.output()];
}

async function withheld(): Promise<number> {
  const provider = await world.deps.store.inventory.provider(providerUuid('cmp1_FakeDevice'));
  return provider?.handles.filter(({ restoredAt }) => restoredAt).length ?? 0;
}

it('refuses invalid arguments and missing tables', async () => {
  const before = await withheld();
  expect(await restore('--stage', stage)).toEqual([2, expect.stringContaining('--suffix')]);
  const later = new Date(Date.now() + 60_000).toISOString();
  expect(await restore('--stage', stage, '--suffix', 'restored', '--moment', later)).toEqual([
    2,
    expect.stringContaining('--moment'),
  ]);
  expect(
    await restore(
      '--stage',
      stage,
      '--suffix',
      'none',
      '--moment',
      '2026-07-01T00:00:00Z',
      '--apply',
    ),
  ).toEqual([2, expect.stringContaining('Not all of these tables exist; nothing was written')]);
  const both = ['--without-backup', '--suffix', 'restored'];
  expect(await restore('--stage', stage, ...both)).toEqual([
    2,
    expect.stringContaining('--without-backup takes neither --suffix nor --moment'),
  ]);
  expect(await withheld()).toBe(before);
});

it('counts first, and writes with the option of docs/operations/restore.md', async () => {
  const moment = await backUpTables(backupStore(createDocuments().documents), stage, 'restored');
  const page = readFileSync(join(import.meta.dirname, '../../docs/operations/restore.md'), 'utf8');
  const [look, apply, ...others] = [...page.matchAll(/^ *npx cyborg-ops restore (.*)$/gm)].map(
    ([, options = '']) =>
      options
        .replace('prod', stage)
        .replace(/\d{4}-\S+Z/, moment)
        .split(' '),
  );
  expect(others).toEqual([]);

  const counted = await restore(...(look ?? []));
  expect(counted).toEqual([
    0,
    expect.stringMatching(/inventory: 6 rows in the backup; \d+ would be/),
  ]);
  expect(counted[1]).toContain('Nothing was written');
  expect(await withheld()).toBe(0);

  expect(await restore(...(apply ?? []))).toEqual([0, expect.stringContaining('Restored.')]);
  expect(await withheld()).toBe(2);
});
