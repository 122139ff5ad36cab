// Two compute nodes: servers that move between them, and what remains on the first.

import assert from 'node:assert/strict';
import {
  act,
  hostOf,
  joinSecondNode,
  losePower,
  restartWith,
  restorePower,
  scheduleOnlyTo,
} from '#test/openstack/nodes.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import {
  assertAllVgpusFree,
  assertHas,
  assertNothingLeft,
  build,
  flavorId,
  removeCleanly,
} from '#test/openstack/servers.ts';
import type { Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

const unshelveCount = 5;

export const twoNodes: readonly Scenario[] = [
  {
    name: 'two nodes: a shelved server is unshelved on the other one, with a vGPU made by the host',
    run: async (stage) => {
      const nodes = await joinSecondNode(stage);
      const seconds: string[] = [];
      await scheduleOnlyTo(stage, nodes[0]);
      const built = await build(stage, 'vgpu');
      await assertHas(stage, built, 1);
      for (let count = 1; count <= unshelveCount; count++) {
        assert.equal(await act(stage, built.id, { shelve: null }), 'SHELVED_OFFLOADED');
        await assertNothingLeft(stage, built.id);
        const target = nodes[count % 2];
        await scheduleOnlyTo(stage, target);
        const startedAt = performance.now();
        assert.equal(await act(stage, built.id, { unshelve: null }), 'ACTIVE');
        seconds.push(((performance.now() - startedAt) / 1000).toFixed(1));
        const [arq] = await assertHas(stage, { ...built, status: 'ACTIVE' }, 1);
        assert.equal(arq?.hostname, target);
      }
      await scheduleOnlyTo(stage);
      await removeCleanly(stage, built.id);
      return `${unshelveCount} of ${unshelveCount}, ACTIVE after ${seconds.join(', ')} s`;
    },
  },
  {
    name: 'two nodes: an unshelve that failed can be repeated, and gives the server its vGPU',
    run: async (stage) => {
      await joinSecondNode(stage);
      const built = await build(stage, 'vgpu');
      await assertHas(stage, built, 1);
      assert.equal(await act(stage, built.id, { shelve: null }), 'SHELVED_OFFLOADED');
      stage.setFaults({ fail: { prepare: 'EIO' } });
      assert.equal(await act(stage, built.id, { unshelve: null }), 'SHELVED_OFFLOADED');
      const left = await stage.demo.accelerator.try(
        'GET',
        `/accelerator_requests?instance=${built.id}`,
      );
      stage.setFaults();
      const status = await eventually(
        () => act(stage, built.id, { unshelve: null }),
        (each) => each === 'ACTIVE',
        120,
      );
      await assertHas(stage, { ...built, status }, 1);
      await removeCleanly(stage, built.id);
      return `after the first, its ARQs were answered with ${left.status}`;
    },
  },
  {
    name: 'two nodes: an evacuated server has accelerators on the new node, and none on the old one',
    run: async (stage) => {
      const [first, second] = await joinSecondNode(stage);
      await scheduleOnlyTo(stage, first);
      const built = await build(stage, 'fpga-and-vgpu');
      const before = await assertHas(stage, built, 2);
      await scheduleOnlyTo(stage);
      await losePower(stage, first);
      assert.equal(await act(stage, built.id, { evacuate: {} }), 'ACTIVE');
      assert.equal(await hostOf(stage, built.id), second);
      const after = await assertHas(stage, built, 2);
      assert.deepEqual(new Set(after.map(({ hostname }) => hostname)), new Set([second]));
      assert.ok(after.every(({ uuid }) => !before.some((arq) => arq.uuid === uuid)));
      await restorePower(stage, first);
      await assertAllVgpusOn(stage, first);
      await removeCleanly(stage, built.id);
      return '';
    },
  },
  {
    name: 'two nodes: a server whose build fails on one node has accelerators on the other one',
    run: async (stage) => {
      const [first, second] = await joinSecondNode(stage);
      // The driver refuses each server once. It has more memory, so Nova tries its node first.
      await restartWith(stage, first, 'fake.FakeRescheduleDriver');
      const patched = () => stage.answers.filter(({ method }) => method === 'PATCH').length;
      const before = patched();
      const built = await build(stage, 'fpga-and-vgpu');
      const arqs = await assertHas(stage, built, 2);
      assert.equal(patched() - before, 2, 'a bind for each node');
      assert.equal(await hostOf(stage, built.id), second);
      assert.deepEqual(new Set(arqs.map(({ hostname }) => hostname)), new Set([second]));
      await restartWith(stage, first);
      await assertAllVgpusOn(stage, first);
      await removeCleanly(stage, built.id);
      return `ACTIVE after ${built.seconds.toFixed(1)} s`;
    },
  },
  {
    name: 'two nodes: servers of an anti-affinity group have accelerators of different nodes',
    run: async (stage) => {
      await joinSecondNode(stage);
      const group = await stage.demo.nova.ask('POST', '/os-server-groups', {
        server_group: { name: 'apart', policy: 'anti-affinity' },
      });
      const hints = { group: group.body.server_group.id };
      // One after the other: Nova checks the group again on the node, and fails some parallel
      // builds.
      const first = await build(stage, 'fpga', { hints });
      const second = await build(stage, 'fpga', { hints });
      const third = await build(stage, 'fpga', { hints });
      const hosts = [...(await assertHas(stage, first, 1)), ...(await assertHas(stage, second, 1))];
      assert.equal(new Set(hosts.map(({ hostname }) => hostname)).size, 2);
      assert.equal(third.status, 'ERROR');
      for (const { id } of [first, second, third]) {
        await removeCleanly(stage, id);
      }
      return `the third: ${third.fault}`;
    },
  },
];

/** Builds one server with all vGPUs of a type on the node: so none is held there. */
async function assertAllVgpusOn(stage: Stage, host: string): Promise<void> {
  await flavorId(stage, 'all-vgpus');
  await scheduleOnlyTo(stage, host);
  await assertAllVgpusFree(stage);
  await scheduleOnlyTo(stage);
}
