// A device that Nova's own PCI tracking offers, too. Nova is real, with its fake hypervisor that
// has PCI devices. The agent's card is simulated, at the address of one of Nova's.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  type CloudPlan,
  computeConfigurationName,
  configurationFile,
  textOf,
} from '#test/openstack/install/configuration.ts';
import { linkNova } from '#test/openstack/install/nova-source.ts';
import { restartCompute, restartWith } from '#test/openstack/nodes.ts';
import { ownProvider, providersOf } from '#test/openstack/providers.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { assertNeverActive, create, offer, removeCleanly } from '#test/openstack/servers.ts';
import {
  addCard,
  addFunctions,
  address,
  virtualFunction as functionOf,
  removeCard,
  resourceClass,
  untilOffered,
} from '#test/openstack/simulated-card.ts';
import { operatorOf, type Stage } from '#test/openstack/stage.ts';
import { logIn } from '#test/openstack/users.ts';
import { eventually } from '#test/support/suites/rest.ts';

const virtualFunction = functionOf(1);

/** Nova's own fake driver with PCI devices has ids that its database refuses. */
const fakeDriver = `
from nova.virt import fake
from oslo_serialization import jsonutils

class Driver(fake.MediumFakeDriver):
    def get_available_resource(self, nodename):
        resources = super().get_available_resource(nodename)
        common = {'vendor_id': '8086', 'status': 'available', 'numa_node': 0}
        resources['pci_passthrough_devices'] = jsonutils.dumps([
            dict(common, address='${address}', product_id='1572', dev_type='type-PF',
                 parent_addr=None, label='label_8086_1572'),
            dict(common, address='${virtualFunction}', product_id='154c', dev_type='type-VF',
                 parent_addr='${address}', label='label_8086_154c'),
        ])
        return resources
`;

/** Where the agent of the first node reads the settings of Nova; the scenarios put them there. */
export function novaFolder({ directory }: CloudPlan): string {
  const folder = join(directory, 'nova-of-agent');
  mkdirSync(folder, { recursive: true });
  return folder;
}

export const offeredTwice: readonly Scenario[] = [
  {
    name: 'offered twice: a device that nova.conf names is withheld, and Placement shows nothing of it',
    run: async (stage) => {
      await addCard(stage);
      await offer(stage, 'disputed', [{ [`resources:${resourceClass}`]: '1' }]);
      const nova = await trackByNova(stage, false);
      const link = join(novaFolder(stage.cloud.plan), 'nova.conf');
      symlinkSync(nova.file, link);
      const since = performance.now();
      const reason = await untilIncident(stage);
      const said = secondsSince(since);
      assert.match(reason, /by Nova, by \[pci\] device_spec of .*nova\.conf, spec-1/);
      const refusals = await assertWithheld(stage);
      assert.equal(await isInPlacement(stage), false);
      nova.takeOut();
      const takenOut = performance.now();
      await untilOffered(stage);
      const back = secondsSince(takenOut);
      rmSync(link);
      await nova.undo();
      await removeCard(stage);
      return [
        `the incident ${said} s after nova.conf: ${reason}`,
        ...refusals,
        `offered again ${back} s after nova.conf is right`,
      ].join('\n');
    },
  },
  {
    name: 'offered twice: a device that Nova tracks in Placement is withheld as long as it does',
    isLong: true,
    run: async (stage) => {
      const nova = await trackByNova(stage, true);
      await eventually(() => isInPlacement(stage), Boolean, 150);
      const since = performance.now();
      addFunctions(stage);
      const reason = await untilIncident(stage);
      const said = secondsSince(since);
      assert.match(reason, /by Nova, by resource provider .*_0000:3F:00\.0 /);
      const refusals = await assertWithheld(stage);
      nova.takeOut();
      await restartCompute(stage, stage.cloud.plan.computeHost);
      await eventually(
        () => isInPlacement(stage),
        (isThere) => !isThere,
        150,
      );
      const gone = performance.now();
      await untilOffered(stage);
      const back = secondsSince(gone);
      await removeCard(stage);
      await nova.undo();
      return [
        `the incident ${said} s after the device: ${reason}`,
        ...refusals,
        `offered again ${back} s after Nova's provider has gone`,
      ].join('\n');
    },
  },
];

function secondsSince(startedAt: number): string {
  return ((performance.now() - startedAt) / 1000).toFixed(0);
}

/** Restarts nova-compute with PCI devices, one of which its settings name. */
async function trackByNova(stage: Stage, report_in_placement: boolean) {
  const { cloud } = stage;
  const host = cloud.plan.computeHost;
  const file = configurationFile(cloud.plan, computeConfigurationName(cloud.plan, host));
  const before = readFileSync(file, 'utf8');
  const device_spec = JSON.stringify({ address: virtualFunction, resource_class: 'CUSTOM_NOVAS' });
  appendFileSync(file, `\n${textOf({ pci: { report_in_placement, device_spec } })}`);
  const { root, undo } = await linkNova(cloud, host);
  writeFileSync(join(root, 'nova/virt/pci_fake.py'), fakeDriver);
  await restartWith(stage, host, 'pci_fake.Driver');
  return {
    file,
    takeOut: () =>
      writeFileSync(file, readFileSync(file, 'utf8').replace(/^device_spec = .*\n/m, '')),
    undo: async () => {
      writeFileSync(file, before);
      undo();
      await restartCompute(stage, host);
    },
  };
}

/** Whether Nova's provider is there; MariaDB compares its name with ours in any letter case. */
async function isInPlacement(stage: Stage): Promise<boolean> {
  const name = `${stage.cloud.plan.computeHost}_${address.toUpperCase()}`;
  return (await providersOf(stage)).some((each) => each.name === name);
}

async function untilIncident(stage: Stage): Promise<string> {
  const operator = await operatorOf(stage);
  const { body } = await eventually(
    () => operator.ask('GET', '/incidents?kind=offered-twice'),
    (answer) => answer.body.incidents.length === 1,
    150,
  );
  return body.incidents[0]?.reason ?? '';
}

/** No server gets the device, and a bind that comes past Placement is refused; returns both. */
async function assertWithheld(stage: Stage): Promise<readonly string[]> {
  const server = await create(stage, 'disputed');
  const fault = await assertNeverActive(stage, server);
  await removeCleanly(stage, server);
  const { accelerator } = stage.admin;
  const body = { device_profile_name: 'disputed' };
  const path = '/accelerator_requests';
  const [arq] = (await accelerator.ask('POST', path, body)).body.arqs;
  const values = {
    hostname: stage.cloud.plan.computeHost,
    device_rp_uuid: ownProvider(stage, address).split('/').at(-1),
    instance_uuid: randomUUID(),
  };
  const patch = Object.entries(values).map(([name, value]) => ({
    path: `/${name}`,
    op: 'add',
    value,
  }));
  const service = { name: 'nova', project: 'service' };
  const token = await logIn(stage.cloud.plan, service);
  const asNova = accelerator.with({ 'X-Service-Token': token });
  const refused = await asNova.try('PATCH', path, { [arq?.uuid ?? '']: patch });
  await accelerator.ask('DELETE', `${path}?arqs=${arq?.uuid}`);
  const said = JSON.stringify(refused.body);
  assert.equal(refused.status, 409, said);
  assert.match(said, /is offered by Nova, too/);
  return [`the server: ${fault}`, `the bind: ${refused.status} ${said}`];
}
