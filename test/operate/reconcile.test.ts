// The command by which an operator compares hosts with Placement and has drift repaired.

import { beforeAll, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { run } from '#test/agent/agent-process.ts';
import { aDevice, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const world = perFile(startWorld);

beforeAll(async () => {
  for (const host of ['cmp1', 'cmp2']) {
    await applyReport(world.deps, host, aReport([aDevice()]), Date.now());
  }
  const { placement } = world.deps.clients;
  await placement.createProvider({ uuid: '00000000-0000-4000-8000-00000000c0d2', name: 'cmp2' });
});

it('repairs what it can, and says why it cannot repair the rest', async () => {
  const words = ['reconcile', 'cmp1', 'cmp2', '--repair'];
  const command = run('operate/cyborg-ops.ts', process.env as Record<string, string>, words);
  expect([await command.exited(), command.output()]).toEqual([
    1,
    expect.stringMatching(
      /no resource provider named cmp1.*cmp1: repaired; 1 still differ.*cmp2: repaired; 0 still/s,
    ),
  ]);
  const mended = await world.deps.clients.placement.getProvider(providerUuid('cmp2_FakeDevice'));
  expect(mended).toBeDefined();
});
