// The states that the next release's test of an upgrade starts from. `RECORD_RELEASE=<version>`
// writes them to test/releases/.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { recordStates } from '#test/support/release-states.ts';
import { startWorld, type World } from '#test/support/world.ts';

let world: World;

beforeAll(async () => {
  // The recording does itself what the messages ask for.
  const settings = { CYBORG_ATTACH_TYPES: 'PCI,MDEV' };
  world = await startWorld({ consumers: 'streams', settings });
});
afterAll(() => world?.stop());

it('a release can be recorded: its rows, its messages, and the jobs that are under way', async () => {
  const recorded = await recordStates(world);
  const states = recorded.rows.filter(({ row }) => String(row.pk).startsWith('ARQ#'));
  expect(states.map(({ row }) => row.state).sort()).toEqual(['BindStarted', 'Bound', 'Initial']);
  expect([...new Set(recorded.messages.map(({ queue }) => queue))].sort()).toEqual([
    'host-jobs',
    'nova-events',
    'provider-syncs',
  ]);
  expect(recorded.jobs.bind).toMatch(/-bind-/);
  expect(recorded.jobs.release).toMatch(/-release-/);
  const version = process.env.RECORD_RELEASE;
  if (!version) return;
  const file = join(import.meta.dirname, '../releases', `${version}.json`);
  writeFileSync(file, `${JSON.stringify(recorded, null, 1)}\n`);
});
