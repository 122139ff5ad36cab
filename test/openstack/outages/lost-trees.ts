// Trees of providers that Placement has lost, with a compute service or by hand, and that a device
// has left.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { restartCompute } from '#test/openstack/nodes.ts';
import { ownProvider, providersOf, reconcile } from '#test/openstack/providers.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { assertHas, build, buildAtLast, removeCleanly } from '#test/openstack/servers.ts';
import { addCard, address, removeCard } from '#test/openstack/simulated-card.ts';
import { operatorOf, type Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

/** A device that was written within the last minute does not count as lost. */
const writtenWithinSeconds = 60;
const deletes = 3;
const builds = 3;

export const lostTrees: readonly Scenario[] = [
  {
    name: 'a lost device stops no build on its host: its provider leaves the tree first',
    run: async (stage) => {
      const host = stage.cloud.plan.computeHost;
      await addCard(stage);
      // Its copy of the tree has the card from now on.
      await restartCompute(stage, host);
      await removeCard(stage);
      const left = await eventually(() => findLeft(stage), Boolean);
      for (let count = 0; count < builds; count += 1) {
        const built = await build(stage, 'fpga');
        await removeCleanly(stage, built.id);
      }
      await addCard(stage);
      assert.ok((await providersOf(stage)).some(({ uuid }) => uuid === left?.uuid));
      await removeCard(stage);
      return `${builds} servers built: ${left?.name}`;
    },
  },
  {
    name: 'a lost provider, deleted by hand, comes back by itself',
    isLong: true,
    run: async (stage) => {
      await untilOld(stage);
      const device = ownProvider(stage, 'FakeDevice');
      const before = (await stage.admin.placement.ask('GET', `${device}/inventories/FPGA`)).body;
      await stage.admin.placement.ask('DELETE', device);
      const seconds = await secondsUntilWhole(stage);
      const { body } = await stage.admin.placement.ask('GET', `${device}/inventories/FPGA`);
      assert.deepEqual([body.total, body.reserved], [before.total, before.reserved]);
      await untilNotLost(stage);
      return `whole ${seconds.toFixed(0)} s after the deletion`;
    },
  },
  {
    name: 'a lost provider of a unit that a server holds comes back without that unit',
    isLong: true,
    run: async (stage) => {
      const { placement } = stage.admin;
      await untilOld(stage);
      const device = ownProvider(stage, 'FakeDevice');
      const built = await build(stage, 'fpga');
      await assertHas(stage, built, 1);
      await placement.ask('DELETE', `/allocations/${built.id}`);
      await placement.ask('DELETE', device);
      const startedAt = performance.now();
      const inventory = () => placement.try('GET', `${device}/inventories/FPGA`);
      const { body } = await eventually(inventory, ({ status }) => status === 200, 90);
      assert.equal(body.reserved, 1);
      const seconds = (performance.now() - startedAt) / 1000;
      await removeCleanly(stage, built.id);
      await eventually(inventory, ({ body: { reserved } }) => reserved === 0);
      await untilNotLost(stage);
      return `back ${seconds.toFixed(0)} s after the deletion, and whole with the server's end`;
    },
  },
  {
    name: 'a lost tree, deleted with its compute service while devices change, comes back',
    run: async (stage) => {
      await untilOld(stage);
      const seconds: string[] = [];
      for (let count = 0; count < deletes; count += 1) {
        await deleteService(stage).finally(() => stage.cloud.startCompute());
        const startedAt = performance.now();
        await secondsUntilWhole(stage);
        seconds.push(((performance.now() - startedAt) / 1000).toFixed(0));
      }
      await untilNotLost(stage);
      const built = await buildAtLast(stage, 'fpga');
      await removeCleanly(stage, built.id);
      return `${deletes} times, whole ${seconds.join(', ')} s after the start of nova-compute`;
    },
  },
];

/** The card's provider once it has left its tree: a root. */
async function findLeft({ admin: { placement } }: Stage) {
  const { resource_providers } = (await placement.ask('GET', '/resource_providers')).body;
  return resource_providers.find(
    ({ name, parent_provider_uuid: parent }) =>
      name.includes(`_${address} (left its tree`) && parent === null,
  );
}

async function untilOld({ admin: { accelerator } }: Stage): Promise<void> {
  const { devices } = (await accelerator.ask('GET', '/devices')).body;
  const times = devices.map(({ created_at }) => Date.parse(created_at));
  const oldAt = Math.max(...times) + (writtenWithinSeconds + 1) * 1000;
  await sleep(Math.max(0, oldAt - Date.now()));
}

/** Deletes the compute service in Nova while an operator disables and enables a device. */
async function deleteService(stage: Stage): Promise<void> {
  const { nova, accelerator } = stage.admin;
  await stage.cloud.killCompute();
  const host = stage.cloud.plan.computeHost;
  const listed = `/os-services?binary=nova-compute&host=${host}`;
  const [service] = (await nova.ask('GET', listed)).body.services;
  const [device] = (await accelerator.ask('GET', '/devices')).body.devices;
  assert.ok(service && device);
  let status = 0;
  const deleting = nova.try('DELETE', `/os-services/${service.id}`).then((reply) => {
    status = reply.status;
  });
  while (status === 0) {
    for (const verb of ['disable', 'enable']) {
      await accelerator.ask('POST', `/devices/${device.uuid}/${verb}`);
    }
  }
  await deleting;
  assert.equal(status, 204);
  // Nova leaves the compute node's provider where a change has brought back one below it.
  await sleep(2000);
  assert.deepEqual(await providersOf(stage), []);
}

/** Until the tree has all providers of the host, with their inventories. */
async function secondsUntilWhole(stage: Stage): Promise<number> {
  const startedAt = performance.now();
  await eventually(
    () => providersOf(stage),
    ({ length }) => length === 7,
    90,
  );
  await eventually(
    async () => reconcile(stage),
    ({ status }) => status === 0,
  );
  return (performance.now() - startedAt) / 1000;
}

/** The reasons of the incidents. */
async function lostProviders(stage: Stage): Promise<readonly string[]> {
  const { body } = await (await operatorOf(stage)).ask('GET', '/incidents?kind=lost-providers');
  return body.incidents.map(({ reason }) => reason);
}

async function untilNotLost(stage: Stage): Promise<void> {
  await eventually(
    () => lostProviders(stage),
    ({ length }) => length === 0,
    90,
  );
}
