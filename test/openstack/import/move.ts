// The cut-over: Cyborg is stopped, its servers are imported, and the catalog names this service.

import assert from 'node:assert/strict';
import { act } from '#test/openstack/nodes.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import {
  arqsOf,
  assertHas,
  assertNothingLeft,
  build,
  offer,
  remove,
  removeCleanly,
} from '#test/openstack/servers.ts';
import { acceleratorUrl, type Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';
import type { Move } from './stage.ts';

/** When the import is killed, in parts of the time of a dry run, which writes nothing. */
const killTimes = [0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.4];

export function moves(move: Move): readonly Scenario[] {
  let allocations: unknown;
  let arqs: Awaited<ReturnType<Move['arqsOf']>> = [];
  let after: Stage;
  let file = '';
  return [
    {
      name: 'cut-over: the import is killed again and again, and then ends as if it had not been',
      run: async () => {
        arqs = await move.arqsOf(move.before);
        await move.cyborg.stop('agent', 'conductor', 'api');
        // A server that is deleted while no accelerator service answers.
        const [gone] = move.servers.splice(0, 1);
        await remove(move.before, gone?.id ?? '');
        allocations = await move.allocations();
        file = await move.dump();
        const words = ['cyborg', '--tables', file];
        const startedAt = performance.now();
        assert.equal((await move.ops(words)).code, 0);
        const whole = performance.now() - startedAt;
        words.push('--apply');
        const killed: string[] = [];
        for (const part of killTimes) {
          const { code } = await move.ops(words, part * whole);
          if (code === null) killed.push(`${await presentIn(move, file)}`);
        }
        assert.ok(killed.length > 0, 'the import was never killed');
        const last = await move.ops(words);
        assert.equal(last.code, 0, last.err);
        const again = await move.ops(words);
        assert.equal(again.code, 0, again.err);
        assert.match(again.out, /0 to import, 14 present, 1 skipped, 0 refused/);
        assert.deepEqual(await move.allocations(), allocations);
        return `killed ${killed.length} times, with so many rows present: ${killed.join(', ')}; ${last.out.trim().split('\n').slice(-2).join('; ')}`;
      },
    },
    {
      name: 'cut-over: the catalog moves, and our agent finds the device with its provider',
      run: async ({ layout, system, cloud }) => {
        const provider = await move.provider();
        await move.guide('catalog', { CYBORG_URL: acceleratorUrl(layout) });
        await system.start(`agent-${cloud.plan.computeHost}`);
        after = await move.after();
        const traits = await eventually(
          async () =>
            (await after.admin.placement.ask('GET', `/resource_providers/${provider.uuid}/traits`))
              .body.traits,
          (held) => held.includes('CUSTOM_FPGA_ABCD_ABCD'),
          240,
        );
        // The handle of the server that was deleted meanwhile is free, too.
        const inventory = await eventually(
          async () =>
            (
              await after.admin.placement.ask(
                'GET',
                `/resource_providers/${provider.uuid}/inventories/FPGA`,
              )
            ).body,
          ({ reserved }) => reserved === 0,
          240,
        );
        assert.equal(inventory.total, 16);
        const now = await move.provider();
        assert.deepEqual([now.uuid, now.name], [provider.uuid, provider.name]);
        assert.deepEqual(await move.allocations(), allocations);
        return `${now.name} ${now.uuid} with ${traits.join(', ')}`;
      },
    },
    {
      name: 'after: each server has the ARQs and attach handles that it had in Cyborg',
      run: async () => {
        const now = await move.arqsOf(after);
        const shown = (each: (typeof arqs)[number]) => [
          each.uuid,
          each.state,
          each.device_rp_uuid,
          each.attach_handle_type,
          each.attach_handle_info,
        ];
        const kept = arqs.filter(({ uuid }) => now.some((each) => each.uuid === uuid));
        assert.deepEqual(now.map(shown), kept.map(shown));
        for (const { id, count } of move.servers) {
          await assertHas(after, { id, status: 'ACTIVE', fault: '' }, count);
        }
        return `${now.length} ARQs of ${move.servers.length} servers`;
      },
    },
    {
      name: 'after: servers made before are rebooted, rebuilt, shelved and deleted',
      run: async () => {
        const [one, two, three, four, ...others] = move.servers;
        const id = (each: typeof one) => each?.id ?? '';
        const before = await arqsOf(after, id(one));
        assert.equal(await act(after, id(one), { reboot: { type: 'HARD' } }), 'ACTIVE');
        assert.deepEqual(await arqsOf(after, id(one)), before);
        assert.equal(await act(after, id(one), { reboot: { type: 'SOFT' } }), 'ACTIVE');
        const { server } = (await after.demo.nova.ask('GET', `/servers/${id(two)}`)).body;
        assert.equal(
          await act(after, id(two), { rebuild: { imageRef: imageOf(server) } }),
          'ACTIVE',
        );
        assert.equal((await arqsOf(after, id(two))).length, two?.count);
        assert.equal(await act(after, id(three), { shelve: null }), 'SHELVED_OFFLOADED');
        await assertNothingLeft(after, id(three));
        assert.equal(await act(after, id(three), { unshelve: null }), 'ACTIVE');
        await assertHas(after, { id: id(three), status: 'ACTIVE', fault: '' }, three?.count ?? 0);
        await removeCleanly(after, id(four));
        move.servers.splice(3, 1);
        return `${others.length + 3} servers are left`;
      },
    },
    {
      name: 'after: new servers get the free handles, and no handle is held twice',
      run: async () => {
        const built = [];
        for (let count = 0; count < 4; count++) built.push(await build(after, 'one'));
        for (const each of built) {
          await assertHas(after, each, 1);
          move.servers.push({ id: each.id, count: 1 });
        }
        const all = (await move.arqsOf(after)).map((each) =>
          JSON.stringify(each.attach_handle_info),
        );
        assert.equal(all.length, 16);
        assert.equal(new Set(all).size, 16);
        const full = await build(after, 'one');
        assert.equal(full.status, 'ERROR');
        await remove(after, full.id);
        return `${all.length} ARQs on 16 handles; a seventeenth server is refused: ${full.fault.slice(0, 60)}`;
      },
    },
    {
      name: 'after: all but one are deleted, and every device comes back once',
      run: async () => {
        const [kept] = move.servers.splice(3, 1);
        for (const { id } of move.servers) await remove(after, id);
        for (const { id } of move.servers) await assertNothingLeft(after, id);
        move.servers.splice(0, move.servers.length, kept ?? { id: '', count: 0 });
        assert.equal(kept?.count, 1);
        const group = { 'resources:FPGA': '15', 'trait:CUSTOM_FAKE_DEVICE': 'required' };
        await offer(after, 'rest', [group]);
        const built = await build(after, 'rest');
        const arqs = await assertHas(after, built, 15);
        const own = await arqsOf(after, kept.id);
        const all = [...own, ...arqs].map((arq) => JSON.stringify(arq.attach_handle_info));
        assert.equal(new Set(all).size, 16);
        await removeCleanly(after, built.id);
        return 'one server got the 15 handles that the kept one does not have';
      },
    },
    {
      name: 'back: Cyborg has the servers of now, and not those that are gone',
      run: async ({ system, cloud }) => {
        for (let count = 0; count < 2; count++) {
          const built = await build(after, 'one');
          await assertHas(after, built, 1);
          move.servers.push({ id: built.id, count: 1 });
        }
        const held = await move.allocations();
        const ours = await move.arqsOf(after);
        await system.kill(`agent-${cloud.plan.computeHost}`);
        await move.guide('catalog', { CYBORG_URL: move.cyborg.url });
        const { code, out, err } = await move.exported(file);
        assert.equal(code, 0, err);
        await move.cyborg.sql(out);
        const state = await assertStateIsCyborgs(move, out);
        await move.cyborg.start('conductor', 'api', 'agent');
        const back = await move.back();
        const shown = (each: (typeof ours)[number]) => [each.uuid, each.attach_handle_info];
        assert.deepEqual((await move.arqsOf(back)).map(shown), ours.map(shown));
        assert.deepEqual(await move.allocations(), held);
        const built = await build(back, 'rest');
        assert.equal(built.status, 'ERROR');
        await remove(back, built.id);
        move.servers.push({ id: (await build(back, 'one')).id, count: 1 });
        assert.equal((await move.arqsOf(back)).length, 4);
        for (const { id } of move.servers) await remove(back, id);
        assert.deepEqual(await move.allocations(), {});
        // Nova asks once, and Cyborg loses a deletion whose message to its conductor times out.
        for (const { id } of move.servers) {
          await back.admin.accelerator.try('DELETE', `/accelerator_requests?instance=${id}`);
        }
        const count = 'SELECT COUNT(*) FROM attach_handles WHERE in_use = 1';
        await eventually(
          () => move.cyborg.sql(count),
          (printed) => printed.endsWith('\n0\n'),
        );
        return `${err.trim()}${state}`;
      },
    },
  ];
}

/**
 * The device's state after the way back is the one that Cyborg gives a device without one. A
 * database without states is not asked for any.
 */
async function assertStateIsCyborgs({ cyborg }: Move, statements: string): Promise<string> {
  if (!cyborg.release.hasDeviceState) {
    assert.doesNotMatch(statements, /device_state/);
    return '';
  }
  const select = 'SELECT device_state FROM devices';
  const written = await cyborg.sql(select);
  await cyborg.sql('UPDATE devices SET device_state = NULL');
  await cyborg.migrate();
  assert.equal(await cyborg.sql(select), written);
  return `; the device is ${written.trim().split('\n').at(-1)}, as cyborg-dbsync has it`;
}

/** How many rows of the plan are written. */
async function presentIn(move: Move, file: string): Promise<number> {
  const { out } = await move.ops(['cyborg', '--tables', file, '--json']);
  const rows = JSON.parse(out) as readonly { readonly verdict: string }[];
  return rows.filter(({ verdict }) => verdict === 'present').length;
}

/** The image of a server. Nova's answer has it under a name that the suite reads nowhere else. */
function imageOf(server: unknown): string {
  return (server as { image: { id: string } }).image.id;
}
