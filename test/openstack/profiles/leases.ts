// Leases of Blazar's flavor plug-in, for flavors with device profiles.

import assert from 'node:assert/strict';
import { startBlazar } from '#test/openstack/install/blazar.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { assertHas, assertNothingLeft, build } from '#test/openstack/servers.ts';
import type { Stage } from '#test/openstack/stage.ts';
import { admin, demo, logIn, type User } from '#test/openstack/users.ts';
import { type Client, eventually, restClient } from '#test/support/suites/rest.ts';

const hourMs = 3_600_000;

/** @param environments directory of the virtual environments */
export function leases(environments: string): readonly Scenario[] {
  return [
    {
      name: 'a lease of Blazar gives a server the accelerator of its flavor, and takes it back',
      isLong: true,
      run: async (stage) => {
        if (!stage.cloud.plan.release.servesByWaitress) return 'not in Zed';
        const url = await startBlazar(stage.cloud, environments);
        const clientOf = async (user: User) =>
          restClient(url, { 'X-Auth-Token': await logIn(stage.cloud.plan, user) });
        await stage.admin.nova.ask('POST', '/os-aggregates', { aggregate: { name: 'freepool' } });
        const name = stage.cloud.plan.computeHost;
        await (await clientOf(admin)).ask('POST', '/os-hosts', { name });
        const tenant = await clientOf(demo);
        const now = await lease(stage, tenant, 'now', 1);
        const [reservation] = now.reservations;
        assert.ok(reservation);
        await eventually(
          () => tenant.ask('GET', `/leases/${now.id}`),
          ({ body }) => body.lease.status === 'ACTIVE',
        );
        const built = await build(stage, `reservation:${reservation.id}`);
        const [arq] = await assertHas(stage, built, 1);
        const later = await lease(stage, tenant, timeOf(24 * hourMs), 20);
        await tenant.ask('DELETE', `/leases/${later.id}`);
        await tenant.ask('DELETE', `/leases/${now.id}`);
        await assertNothingLeft(stage, built.id);
        const next = await build(stage, 'fpga');
        await assertHas(stage, next, 1);
        return `${arq?.attach_handle_type} of ${arq?.hostname}; a lease of 20 such servers was taken, too`;
      },
    },
  ];
}

async function lease(stage: Stage, tenant: Client, start: string, amount: number) {
  const { flavors } = (await stage.demo.nova.ask('GET', '/flavors')).body;
  const flavor = flavors.find(({ name }) => name === 'fpga');
  const { body } = await tenant.ask('POST', '/leases', {
    name: `lease-${amount}`,
    start_date: start,
    end_date: timeOf(48 * hourMs),
    events: [],
    reservations: [
      { resource_type: 'flavor:instance', flavor_id: flavor?.id, amount, affinity: 'None' },
    ],
  });
  return body.lease;
}

/** In the form of Blazar. */
function timeOf(afterMs: number): string {
  return new Date(Date.now() + afterMs).toISOString().slice(0, 16).replace('T', ' ');
}
