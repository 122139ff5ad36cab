// The move from a real Cyborg to this service: servers that were made with Cyborg keep their
// accelerators, and give them back exactly once.

import assert from 'node:assert/strict';
import { dryRuns } from '#test/openstack/import/dry-runs.ts';
import { moves } from '#test/openstack/import/move.ts';
import { sideBySide } from '#test/openstack/import/side-by-side.ts';
import { openMove } from '#test/openstack/import/stage.ts';
import { type CyborgRelease, prepareCyborg } from '#test/openstack/install/cyborg.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { build, offer, remove } from '#test/openstack/servers.ts';
import type { ApiAnswer, Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';
import { mapHost } from './set-up.ts';

const group = (count: number) => ({
  'resources:FPGA': String(count),
  'trait:CUSTOM_FAKE_DEVICE': 'required',
});

/** Ten servers with one accelerator and two with two: 14 of the 16 handles. */
const flavors = [...Array.from({ length: 10 }, () => 'one'), 'two', 'two'];

/** Servers that are asked for again in one run. */
const repeatsMax = 4;

export async function importing(
  stage: Stage,
  answers: readonly ApiAnswer[],
  release: CyborgRelease,
  { measuresCalls }: { readonly measuresCalls: boolean },
): Promise<readonly Scenario[]> {
  const cyborg = await prepareCyborg(stage.cloud, release);
  const move = await openMove(stage, answers, cyborg);
  let repeats = 0;
  /**
   * Cyborg 9.0.0's conductor was seen to answer nothing any more in the middle of a bind, also
   * twice in a run.
   */
  const buildWithCyborg = async (flavor: string): Promise<Awaited<ReturnType<typeof build>>> => {
    const built = await build(move.before, flavor);
    if (built.status === 'ACTIVE' || repeats === repeatsMax) return built;
    repeats++;
    await cyborg.stop('conductor');
    await cyborg.start('conductor');
    await remove(move.before, built.id);
    const { accelerator } = move.before.admin;
    const { arqs } = (await accelerator.ask('GET', '/accelerator_requests')).body;
    for (const { uuid } of arqs.filter(({ state }) => state !== 'Bound')) {
      await accelerator.ask('DELETE', `/accelerator_requests?arqs=${uuid}`);
    }
    return buildWithCyborg(flavor);
  };
  const joins: Scenario = {
    name: 'Cyborg: its agent reports a device of the compute node',
    run: async () => {
      await stage.cloud.startCompute();
      await mapHost(stage);
      await cyborg.start('conductor', 'api', 'agent');
      const { name } = await eventually(
        () => move.provider().catch(() => undefined),
        (found) => found !== undefined,
        240,
      ).then((found) => found ?? { name: '' });
      return `its provider is ${name}`;
    },
  };
  if (measuresCalls) return [joins, ...sideBySide(stage, move)];
  return [
    joins,
    {
      name: 'Cyborg: twelve servers get their accelerators from it',
      run: async () => {
        await offer(move.before, 'one', [group(1)]);
        await offer(move.before, 'two', [group(2)]);
        for (const flavor of flavors) {
          const built = await buildWithCyborg(flavor);
          assert.equal(built.status, 'ACTIVE', built.fault);
          move.servers.push({ id: built.id, count: flavor === 'one' ? 1 : 2 });
        }
        // Cyborg 9.0.0 shows no uuids of handles.
        const arqs = await move.arqsOf(move.before);
        assert.ok(arqs.every(({ state }) => state === 'Bound'));
        const handles = arqs.map((arq) => arq.attach_handle_info);
        assert.equal(new Set(handles.map((info) => JSON.stringify(info))).size, 14);
        // No release says by the state that a server has the device.
        const state = release.hasDeviceState
          ? `; the state of the device: ${(await cyborg.sql('SELECT device_state FROM devices')).trim().split('\n').at(-1)}`
          : '';
        return `${move.servers.length} servers, ${repeats} of them at the second attempt, ${handles.length} ARQs${state}`;
      },
    },
    ...dryRuns(move),
    ...moves(move),
  ];
}
