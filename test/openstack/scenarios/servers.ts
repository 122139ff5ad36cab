// Servers with accelerators, from the view of their users.

import assert from 'node:assert/strict';
import type { Scenario } from '#test/openstack/scenario.ts';
import {
  allocationsOf,
  arqsOf,
  assertHas,
  assertNothingLeft,
  build,
  flavorId,
  makeFlavor,
  remove,
  removeCleanly,
  show,
} from '#test/openstack/servers.ts';
import { operatorOf, type Stage } from '#test/openstack/stage.ts';
import { demo } from '#test/openstack/users.ts';
import { type Arq, eventually } from '#test/support/suites/rest.ts';

const seconds = (each: { seconds: number }) => `${each.seconds.toFixed(1)} s`;

const statusAfter: Readonly<Record<string, string>> = { 'os-stop': 'SHUTOFF', pause: 'PAUSED' };

export const servers: readonly Scenario[] = [
  {
    name: 'the commands of the guide create a server with two accelerators, and delete it',
    run: async (stage) => {
      await stage.guide('profile');
      const printed = await stage.guide('server', demo);
      assert.match(printed, /\| status +\| ACTIVE/);
      assert.equal(printed.match(/\| Bound +\|/g)?.length, 2);
      const { arqs } = (await stage.demo.accelerator.ask('GET', '/accelerator_requests')).body;
      assert.deepEqual(arqs, []);
      return '';
    },
  },
  {
    name: 'a server with one accelerator becomes ACTIVE; deleted, it leaves nothing',
    run: (stage) => buildAndRemove(stage, 'fpga', 1),
  },
  {
    name: 'a deleted server keeps its name for operators, and has none for its project',
    run: async (stage) => {
      const { id } = await build(stage, 'fpga');
      const { name } = (await stage.demo.nova.ask('GET', `/servers/${id}`)).body.server;
      await removeCleanly(stage, id);
      const path = `/names?servers=${id}`;
      const { body: seen } = await (await operatorOf(stage)).ask('GET', path);
      assert.deepEqual(seen.servers, { [id]: name });
      const { body: hidden } = await (await operatorOf(stage, demo)).ask('GET', path);
      assert.deepEqual(hidden.servers, {});
      return '';
    },
  },
  {
    name: 'a server with two accelerators of one group gets two',
    run: (stage) =>
      buildAndRemove(stage, 'two-fpgas', 2, (arqs) =>
        assert.equal(new Set(arqs.map((arq) => arq.device_rp_uuid)).size, 1),
      ),
  },
  {
    name: 'a server with two groups gets an accelerator of each, one of them made by the host',
    run: (stage) =>
      buildAndRemove(stage, 'fpga-and-vgpu', 2, (arqs) =>
        assert.deepEqual(arqs.map((arq) => arq.attach_handle_type).sort(), ['MDEV', 'TEST_PCI']),
      ),
  },
  {
    name: 'no project sees or takes accelerators of another',
    run: async (stage) => {
      const built = await build(stage, 'fpga');
      const [arq] = await assertHas(stage, built, 1);
      const { accelerator } = stage.other;
      assert.deepEqual((await accelerator.ask('GET', '/accelerator_requests')).body.arqs, []);
      const one = await accelerator.try('GET', `/accelerator_requests/${arq?.uuid}`);
      assert.equal(one.status, 404);
      const own = await stage.demo.accelerator.try(
        'DELETE',
        `/accelerator_requests?instance=${built.id}`,
      );
      assert.equal(own.status, 403, 'even the owner cannot delete an ARQ of a server');
      assert.match(own.body.error, /send_service_user_token/);
      await assertHas(stage, built, 1);
      await remove(stage, built.id);
      return '';
    },
  },
  {
    name: 'a server keeps its accelerators through whatever leaves it on its host',
    run: async (stage) => {
      const built = await build(stage, 'fpga-and-vgpu');
      const before = await assertHas(stage, built, 2);
      for (const action of [
        { reboot: { type: 'SOFT' } },
        { reboot: { type: 'HARD' } },
        { 'os-stop': null },
        { 'os-start': null },
        { pause: null },
        { unpause: null },
        { lock: null },
        { unlock: null },
        { createImage: { name: 'snapshot' } },
        { createBackup: { name: 'backup', backup_type: 'daily', rotation: 1 } },
        { trigger_crash_dump: null },
      ]) {
        const [name = ''] = Object.keys(action);
        await act(stage, built.id, action, statusAfter[name] ?? 'ACTIVE');
        assert.deepEqual(await arqsOf(stage, built.id), before);
      }
      await removeCleanly(stage, built.id);
      return '';
    },
  },
  {
    name: 'a shelved server releases its accelerator, and gets one when it is unshelved',
    run: async (stage) => {
      const built = await build(stage, 'fpga');
      await act(stage, built.id, { shelve: null }, 'SHELVED_OFFLOADED');
      await assertNothingLeft(stage, built.id);
      await act(stage, built.id, { unshelve: null }, 'ACTIVE');
      await assertHas(stage, built, 1);
      await removeCleanly(stage, built.id);
      return '';
    },
  },
  {
    name: 'a server gets the last accelerators while earlier ones are still cleaned',
    run: async (stage) => {
      const first = await build(stage, 'all-vgpus');
      await assertHas(stage, first, 2);
      stage.setFaults({ delayMs: { clean: 4000 } });
      await remove(stage, first.id);
      // Nova deletes the allocation before the host has cleaned the handles.
      assert.deepEqual(await allocationsOf(stage, first.id), {});
      const second = await build(stage, 'all-vgpus');
      await assertHas(stage, second, 2);
      await removeCleanly(stage, second.id);
      return `the second ACTIVE after ${seconds(second)}`;
    },
  },
  {
    name: 'Nova itself refuses suspend, resize and migration of a server with accelerators',
    run: async (stage) => {
      const built = await build(stage, 'fpga');
      const refusals: string[] = [];
      for (const action of [
        { suspend: null },
        { resize: { flavorRef: await flavorId(stage, 'two-fpgas') } },
        { migrate: null },
        { 'os-migrateLive': { host: null, block_migration: 'auto' } },
      ]) {
        const by = Object.keys(action)[0]?.includes('igrate') ? stage.admin : stage.demo;
        const reply = await by.nova.try('POST', `/servers/${built.id}/action`, action);
        const said = JSON.stringify(reply.body);
        assert.equal(reply.status, 400, said);
        assert.match(said, /not supported with instances that have accelerators/);
        refusals.push(`${Object.keys(action)[0]} ${reply.status}`);
      }
      await assertHas(stage, built, 1);
      await remove(stage, built.id);
      return refusals.join(', ');
    },
  },
  {
    name: 'Nova refuses to resize a server without accelerators to a flavor with accelerators',
    run: async (stage) => {
      await makeFlavor(stage, 'plain');
      const built = await build(stage, 'plain');
      assert.equal(built.status, 'ACTIVE', built.fault);
      const resize = { resize: { flavorRef: await flavorId(stage, 'fpga') } };
      const path = `/servers/${built.id}/action`;
      const reply = await stage.demo.nova.try('POST', path, resize);
      const said = JSON.stringify(reply.body ?? '');
      assert.equal(reply.status, 400, said);
      await removeCleanly(stage, built.id);
      return `${reply.status} ${said}`;
    },
  },
];

/** @param check of the server's ARQs, beside their number */
async function buildAndRemove(
  stage: Stage,
  flavor: string,
  count: number,
  check?: (arqs: readonly Arq[]) => void,
): Promise<string> {
  const built = await build(stage, flavor);
  const arqs = await assertHas(stage, built, count);
  check?.(arqs);
  await removeCleanly(stage, built.id);
  return `ACTIVE after ${seconds(built)}`;
}

/** Performs an action of the server's user, and waits until it has led to the status. */
async function act(stage: Stage, id: string, action: object, wanted: string): Promise<void> {
  await stage.demo.nova.ask('POST', `/servers/${id}/action`, action);
  await eventually(
    () => show(stage, id),
    ({ status, task }) => status === wanted && task === null,
  );
}
