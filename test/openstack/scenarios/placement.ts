// What Placement is told, what becomes of it when somebody else changes it, and what is said of it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { environmentOf } from '#local/process/layout.ts';
import { ownProvider, providersOf } from '../providers.ts';
import { eventually } from '../rest.ts';
import type { Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';

export const placement: readonly Scenario[] = [
  {
    name: 'what is changed by hand in Placement is shown by a dry run, and mended',
    run: async (stage) => {
      const { placement } = stage.admin;
      assert.equal(reconcile(stage).status, 0, 'they agree to begin with');
      const device = ownProvider(stage, 'FakeDevice');
      const inventory = `${device}/inventories/FPGA`;
      const { body } = await placement.ask('GET', inventory);
      await placement.ask('PUT', inventory, { ...body, total: 32, max_unit: 32 });
      const traits = (await placement.ask('GET', `${device}/traits`)).body;
      await placement.ask('PUT', `${device}/traits`, { ...traits, traits: ['CUSTOM_FAKE_DEVICE'] });
      await placement.ask('DELETE', ownProvider(stage, '0000:0d:00.0_region0'));
      const foreign = await makeForeign(stage, 'somebody-elses', ['CUSTOM_FAKE_DEVICE']);
      const dry = reconcile(stage);
      assert.equal(dry.status, 1);
      assert.equal((await placement.ask('GET', inventory)).body.total, 32, 'a dry run');
      const repaired = reconcile(stage, '--repair');
      assert.equal(repaired.status, 0, repaired.text);
      assert.equal((await placement.ask('GET', inventory)).body.total, 16);
      const left = (await placement.ask('GET', `/resource_providers/${foreign}/traits`)).body;
      assert.deepEqual(left.traits, ['CUSTOM_FAKE_DEVICE'], 'what is not ours is left alone');
      await placement.ask('DELETE', `/resource_providers/${foreign}`);
      return differing(dry.text);
    },
  },
  {
    name: 'a device that Nova offers, too, is reported and not offered until Nova lets go',
    run: async (stage) => {
      const { placement } = stage.admin;
      const host = stage.cloud.plan.computeHost;
      const novas = await makeForeign(stage, `${host}_pci_0000_0e_00_0`, ['OWNER_NOVA']);
      const vgpus = `${ownProvider(stage, '0000:0e:00.0_fake-1')}/inventories/VGPU`;
      const reserved = async () => (await placement.ask('GET', vgpus)).body.reserved;
      const conflict = reconcile(stage, '--repair');
      assert.equal(conflict.status, 1);
      assert.equal(await reserved(), 4);
      await placement.ask('DELETE', `/resource_providers/${novas}`);
      assert.equal(reconcile(stage, '--repair').status, 0);
      assert.equal(await reserved(), 0);
      return differing(conflict.text);
    },
  },
  {
    name: 'a device of a compute node survives an agent that comes and goes',
    run: async (stage) => {
      const before = (await providersOf(stage)).map(({ uuid }) => uuid).sort();
      const agent = `agent-${stage.cloud.plan.computeHost}`;
      await stage.system.kill(agent);
      await stage.system.start(agent);
      await eventually(
        async () => (await stage.admin.accelerator.ask('GET', '/devices')).body.devices,
        (devices) => devices.length === 3,
      );
      assert.deepEqual((await providersOf(stage)).map(({ uuid }) => uuid).sort(), before);
      return '';
    },
  },
];

/** Somebody else's provider below the compute node. */
async function makeForeign(stage: Stage, name: string, traits: readonly string[]): Promise<string> {
  const { placement } = stage.admin;
  const [node] = (await providersOf(stage)).filter(
    (each) => each.name === stage.cloud.plan.computeHost,
  );
  const made = await placement.ask('POST', '/resource_providers', {
    name,
    parent_provider_uuid: node?.uuid,
  });
  const { uuid, generation } = made.body;
  await placement.ask('PUT', `/resource_providers/${uuid}/traits`, {
    resource_provider_generation: generation,
    traits,
  });
  return uuid;
}

/** As an operator has it: `npm run reconcile`. */
function reconcile({ layout, cloud }: Stage, ...options: string[]) {
  const root = join(import.meta.dirname, '..', '..', '..');
  const run = spawnSync(
    process.execPath,
    ['operate/reconcile.ts', cloud.plan.computeHost, ...options],
    {
      cwd: root,
      encoding: 'utf8',
      env: { ...environmentOf(layout), POWERTOOLS_LOG_LEVEL: 'SILENT' },
    },
  );
  return { status: run.status, text: run.stdout + run.stderr };
}

function differing(text: string): string {
  return [...text.matchAll(/^≠ .*\n(?: {6}.*\n)*/gm)].map(([block]) => block.trimEnd()).join('\n');
}
