// Servers that come to the hypervisor from a shelf or from another node. The other node has Nova's
// fake hypervisor: what its servers did with their devices is not played.

import assert from 'node:assert/strict';
import { hardwareHost } from '#test/openstack/hardware-node.ts';
import {
  act,
  hostOf,
  losePower,
  restartWith,
  restorePower,
  scheduleOnlyTo,
} from '#test/openstack/nodes.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { assertHas, assertNothingLeft, build } from '#test/openstack/servers.ts';
import type { Stage } from '#test/openstack/stage.ts';
import type { GuestNode } from './node.ts';
import { bootTenant, looped, putSector, tenantOf, wrote, zeros } from './tenant.ts';

const texts = { shelved: 'what a shelf does not keep', moved: 'from another node' };

export function moves(node: GuestNode): readonly Scenario[] {
  return [
    {
      name: 'guest: an unshelved server gets its NVMe device again, erased',
      run: async (stage) => {
        const tenant = await bootTenant(stage, 'nvme', texts.shelved);
        assert.equal(tenant.lines[2], wrote(texts.shelved));
        assert.equal(await act(stage, tenant.id, { shelve: null }), 'SHELVED_OFFLOADED');
        await assertNothingLeft(stage, tenant.id);
        assert.equal(await act(stage, tenant.id, { unshelve: null }), 'ACTIVE');
        const again = await tenantOf(stage, tenant.id);
        assert.deepEqual(again.lines.slice(1, 3), [`found: ${zeros}`, wrote(texts.shelved)]);
        await node.removeAndClean(stage, again);
        return again.note;
      },
    },
    {
      name: 'guest: a server whose build fails on another node uses an mdev of this one',
      run: async (stage) => {
        const other = stage.cloud.plan.computeHost;
        await rankLast(stage, hardwareHost);
        await scheduleOnlyTo(stage);
        const bound = () => stage.answers.filter(({ method }) => method === 'PATCH').length;
        const before = bound();
        // The driver refuses each server once.
        await restartWith(stage, other, 'fake.FakeRescheduleDriver');
        const tenant = await bootTenant(stage, 'mdev-at-bind', texts.moved).finally(() =>
          restartWith(stage, other),
        );
        assert.equal(bound() - before, 2, 'a bind for each node');
        assert.equal(tenant.arq.hostname, hardwareHost);
        assert.ok(tenant.lines.includes(looped(texts.moved)), tenant.note);
        await scheduleOnlyTo(stage, hardwareHost);
        await node.removeAndClean(stage, tenant);
        return tenant.note;
      },
    },
    {
      name: 'guest: a server evacuated from another node uses an mdev of this one',
      run: async (stage) => {
        const other = stage.cloud.plan.computeHost;
        await scheduleOnlyTo(stage, other);
        const image = await putSector(stage, texts.moved);
        const before = await build(stage, 'mdev-at-bind', { image });
        const [arq] = await assertHas(stage, before, 1);
        assert.equal(arq?.hostname, other);
        await scheduleOnlyTo(stage);
        await losePower(stage, other);
        assert.equal(await act(stage, before.id, { evacuate: {} }), 'ACTIVE');
        assert.equal(await hostOf(stage, before.id), hardwareHost);
        const tenant = await tenantOf(stage, before.id);
        assert.equal(tenant.arq.hostname, hardwareHost);
        assert.notEqual(tenant.arq.uuid, arq.uuid);
        assert.ok(tenant.lines.includes(looped(texts.moved)), tenant.note);
        await restorePower(stage, other);
        await scheduleOnlyTo(stage, hardwareHost);
        await node.removeAndClean(stage, tenant);
        return tenant.note;
      },
    },
  ];
}

/** Nova prefers the node with the newest hypervisor, which is a real one. */
async function rankLast({ admin: { nova } }: Stage, host: string): Promise<void> {
  const name = 'last';
  const { aggregate } = (await nova.ask('POST', '/os-aggregates', { aggregate: { name } })).body;
  const metadata = { hypervisor_version_weight_multiplier: '-1' };
  for (const action of [{ add_host: { host } }, { set_metadata: { metadata } }]) {
    await nova.ask('POST', `/os-aggregates/${aggregate.id}/action`, action);
  }
}
