// What others change beneath a device or a server: a service that is away, a profile and an image
// that go, a card that is divided anew.

import assert from 'node:assert/strict';
import { aGbs } from '#local/demo/gbs.ts';
import { startPlacement } from '#test/openstack/install/programs.ts';
import { act, bootHost } from '#test/openstack/nodes.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { regionGroup } from '#test/openstack/scenarios/images.ts';
import {
  arqsOf,
  assertHas,
  build,
  offer,
  putImage,
  removeCleanly,
  show,
} from '#test/openstack/servers.ts';
import {
  addFunctions,
  addVirtualFunction,
  removeCard,
  resourceClass,
  untilOffered,
  virtualFunction,
} from '#test/openstack/simulated-card.ts';
import { incidentsOf, operatorOf, type Stage } from '#test/openstack/stage.ts';
import { type Arq, eventually } from '#test/support/suites/rest.ts';

export const wrongMoments: readonly Scenario[] = [
  {
    name: 'a card that comes while Placement is away is offered when Placement is back',
    run: async (stage) => {
      const { cloud } = stage;
      await cloud.processes.kill('placement');
      addFunctions(stage);
      const devices = await eventually(
        async () => (await stage.admin.accelerator.ask('GET', '/devices')).body.devices,
        ({ length }) => length === 4,
      );
      startPlacement(cloud);
      await cloud.processes.listening('placement', cloud.plan.ports.placement);
      const startedAt = performance.now();
      await untilOffered(stage);
      const seconds = (performance.now() - startedAt) / 1000;
      await removeCard(stage);
      return `${devices.length} devices meanwhile; offered ${seconds.toFixed(1)} s after its start`;
    },
  },
  {
    name: 'a server whose image is deleted keeps it until its host boots, and says so afterwards',
    run: async (stage) => {
      const image = (name: string) =>
        putImage(stage, `${name}.gbs`, new Uint8Array(aGbs({ bitstream: name })));
      const groupsOf = (id: string) => [{ ...regionGroup, 'accel:bitstream_id': id }];
      const [first, second] = [await image('first'), await image('second')];
      await offer(stage, 'beneath', groupsOf(first));
      const built = await build(stage, 'beneath');
      const before = await assertHas(stage, built, 1);
      const operator = await operatorOf(stage);
      const profile = { name: 'beneath', groups: groupsOf(second) };
      await operator.ask('PUT', '/device_profiles/beneath', profile);
      await stage.admin.glance.ask('DELETE', `/v2/images/${first}`);
      assert.equal(await act(stage, built.id, { reboot: { type: 'HARD' } }), 'ACTIVE');
      assert.deepEqual(await assertHas(stage, built, 1), before);
      await giveAnother(stage, built.id);
      await stage.admin.glance.ask('DELETE', `/v2/images/${second}`);
      await bootHost(stage);
      const path = `/accelerator_requests?instance=${built.id}`;
      const { body } = await eventually(
        () => stage.demo.accelerator.try('GET', path),
        ({ status }) => status === 409,
        60,
      );
      assert.match(body.error, new RegExp(`Glance has no image ${second}`));
      const action = { shelve: null };
      const shelved = await stage.demo.nova.try('POST', `/servers/${built.id}/action`, action);
      assert.equal(shelved.status, 500);
      assert.equal((await show(stage, built.id)).task, 'shelving');
      await removeCleanly(stage, built.id);
      return `${body.error} A shelve: ${shelved.status} ${JSON.stringify(shelved.body)}`;
    },
  },
  {
    name: 'a server whose function is gone from its card gets another by shelve and unshelve',
    run: async (stage) => {
      addFunctions(stage);
      addVirtualFunction(stage, 2);
      await untilOffered(stage, 2);
      await offer(stage, 'divided', [{ [`resources:${resourceClass}`]: '1' }]);
      const built = await build(stage, 'divided');
      const [arq] = await assertHas(stage, built, 1);
      const lost = Number(arq?.attach_handle_info.function);
      stage.sysfs.removeFunction(virtualFunction(lost));
      const [reason] = await eventually(
        () => incidentsOf(stage, built.id),
        ({ length }) => length > 0,
      );
      const other = await giveAnother(stage, built.id);
      assert.equal(Number(other.attach_handle_info.function), 3 - lost);
      await eventually(
        () => incidentsOf(stage, built.id),
        ({ length }) => length === 0,
      );
      addVirtualFunction(stage, lost);
      await untilOffered(stage, 2);
      await removeCleanly(stage, built.id);
      await removeCard(stage);
      return reason ?? '';
    },
  },
];

/** By shelve and unshelve; returns the server's accelerator. */
async function giveAnother(stage: Stage, id: string): Promise<Arq> {
  const before = await arqsOf(stage, id);
  await act(stage, id, { shelve: null });
  await eventually(
    () => show(stage, id),
    ({ status, task }) => status === 'SHELVED_OFFLOADED' && task === null,
    60,
  );
  const status = await act(stage, id, { unshelve: null });
  const [arq] = await assertHas(stage, { id, status, fault: '' }, 1);
  assert.ok(arq && before.every(({ uuid }) => uuid !== arq.uuid));
  return arq;
}
