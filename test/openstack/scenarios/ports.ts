// Servers with an accelerator that a port of Neutron asks for. Neutron and the agent's driver
// `nic` are real. The card is simulated: a directory in sysfs's form, which appears while the
// agent runs. Neutron's agent on the node is a row of its table, and Nova's fake hypervisor
// attaches nothing, so the port stays DOWN.

import assert from 'node:assert/strict';
import { runSql } from '#test/openstack/install/cloud.ts';
import { ownProvider, providersOf } from '#test/openstack/providers.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { assertHas, build, makeFlavor, removeCleanly } from '#test/openstack/servers.ts';
import type { Stage } from '#test/openstack/stage.ts';
import { type Body, eventually } from '#test/support/suites/rest.ts';

const card = '0000:3d:00.0';
const physicalNetwork = 'physnet1';

/** The agent's settings of driver `nic`; without cleaning, so that the card can be taken out. */
export const cardSettings = {
  cards: [
    {
      addresses: card,
      virtual_functions: true,
      physical_network: physicalNetwork,
      clean: 'none',
    },
  ],
};

export const ports: readonly Scenario[] = [
  {
    name: 'ports: a server gets the virtual function that its port asks for, and Neutron binds it',
    run: async (stage) => {
      const network = await makeNetwork(stage);
      await makeFlavor(stage, 'without-accelerators');
      await addCard(stage);
      await makeProfile(stage, 'one-function', 1);
      const port = await makePort(stage, network, 'one-function');
      const built = await build(stage, 'without-accelerators', { networks: [{ port: port.id }] });
      const [arq] = await assertHas(stage, built, 1);
      assert.ok(arq);
      const { domain, bus, device, function: fn, physical_network } = arq.attach_handle_info;
      assert.equal(physical_network, physicalNetwork);
      const bound = await show(stage, port.id);
      assert.equal(bound['binding:host_id'], stage.cloud.plan.computeHost);
      assert.equal(bound['binding:vif_type'], 'hw_veb');
      assert.deepEqual(bound['binding:profile'], {
        arq_uuid: arq.uuid,
        physical_network: physicalNetwork,
        pci_slot: `${domain}:${bus}:${device}.${fn}`,
      });
      await assertRefusals(stage, built.id, port.id);
      await removeCleanly(stage, built.id);
      const { 'binding:profile': left, device_id } = await show(stage, port.id);
      assert.deepEqual({ left, device_id }, { left: {}, device_id: '' });
      const { arqs } = (await stage.demo.accelerator.ask('GET', '/accelerator_requests')).body;
      assert.deepEqual(arqs, []);
      await stage.demo.network.ask('DELETE', `/ports/${port.id}`);
      return `${bound['binding:profile'].pci_slot}, ACTIVE after ${built.seconds.toFixed(1)} s`;
    },
  },
  {
    name: 'ports: Nova refuses a port whose profile asks for two accelerators',
    run: async (stage) => {
      await makeProfile(stage, 'two-functions', 2);
      const { networks } = (await stage.demo.network.ask('GET', '/networks')).body;
      const [network] = networks;
      const port = await makePort(stage, network.id, 'two-functions');
      const built = build(stage, 'without-accelerators', { networks: [{ port: port.id }] });
      const said = await built.then(
        () => assert.fail('Nova has taken the port.'),
        (error: Error) => error.message,
      );
      assert.match(said, /answered 400.*request multiple devices for single port/);
      const { arqs } = (await stage.demo.accelerator.ask('GET', '/accelerator_requests')).body;
      assert.deepEqual(arqs, []);
      await stage.demo.network.ask('DELETE', `/ports/${port.id}`);
      await removeCard(stage);
      return 'request multiple devices for single port';
    },
  },
];

/** Nova moves no server with such a port, and does not take the port from it. */
async function assertRefusals({ demo }: Stage, id: string, port: string): Promise<void> {
  const action = ['POST', `/servers/${id}/action`] as const;
  for (const reply of [
    await demo.nova.try(...action, { shelve: null }),
    await demo.nova.try(...action, { suspend: null }),
    await demo.nova.try('DELETE', `/servers/${id}/os-interface/${port}`),
  ]) {
    const said = JSON.stringify(reply.body);
    assert.equal(reply.status, 400, said);
    assert.match(said, /not supported with Ports that have accelerators/);
  }
}

/** A network of the card's, with a subnet, for all tenants; returns its id. */
async function makeNetwork(stage: Stage): Promise<string> {
  const { cloud, admin } = stage;
  const provider = {
    'provider:network_type': 'flat',
    'provider:physical_network': physicalNetwork,
  };
  const { body } = await admin.network.ask('POST', '/networks', {
    network: { name: physicalNetwork, shared: true, ...provider },
  });
  const network_id = body.network.id;
  await admin.network.ask('POST', '/subnets', {
    subnet: { network_id, ip_version: 4, cidr: '192.0.2.0/24', enable_dhcp: false },
  });
  // As neutron-sriov-nic-agent reports itself.
  const mappings = JSON.stringify({ device_mappings: { [physicalNetwork]: ['ens1'] } });
  const columns = {
    id: network_id,
    agent_type: 'NIC Switch agent',
    topic: 'N/A',
    configurations: mappings,
    binary: 'neutron-sriov-nic-agent',
    host: cloud.plan.computeHost,
  };
  const values = Object.values(columns).map((value) => `'${value}'`);
  const dates = ['created_at', 'started_at', 'heartbeat_timestamp'];
  const now = dates.map(() => 'UTC_TIMESTAMP()');
  const names = [...Object.keys(columns), ...dates].map((name) => `\`${name}\``).join(', ');
  const row = `(${names}) VALUES (${[...values, ...now].join(', ')})`;
  await runSql(cloud, 'add-network-agent', `INSERT INTO neutron.agents ${row};`);
  return network_id;
}

/** The agent discovers it. */
async function addCard(stage: Stage): Promise<void> {
  const ids = { vendor: '8086', classCode: '020000' };
  stage.sysfs
    .addFunction({ address: card, ...ids, product: '1572', driver: 'i40e', sriovTotalvfs: 2 })
    .addVirtualFunctions(card, 2, { ...ids, product: '154c' });
  await eventually(
    () => stage.admin.placement.try('GET', `${ownProvider(stage, card)}/inventories`),
    ({ status, body }) => status === 200 && body.inventories.CUSTOM_NIC?.total === 2,
  );
}

async function removeCard(stage: Stage): Promise<void> {
  for (const fn of ['.1', '.2', '.0']) stage.sysfs.removeFunction(card.replace('.0', fn));
  await eventually(
    () => providersOf(stage),
    ({ length }) => length === 7,
  );
}

async function makeProfile({ admin }: Stage, name: string, count: number): Promise<void> {
  const trait = `trait:CUSTOM_${physicalNetwork.toUpperCase()}`;
  const groups = [{ 'resources:CUSTOM_NIC': String(count), [trait]: 'required' }];
  await admin.accelerator.ask('POST', '/device_profiles', [{ name, groups }]);
}

async function makePort({ demo }: Stage, network_id: string, device_profile: string) {
  const type = { 'binding:vnic_type': 'accelerator-direct' };
  const reply = await demo.network.ask('POST', '/ports', {
    port: { network_id, ...type, device_profile },
  });
  return reply.body.port;
}

async function show({ admin }: Stage, id: string): Promise<Body['port']> {
  return (await admin.network.ask('GET', `/ports/${id}`)).body.port;
}
