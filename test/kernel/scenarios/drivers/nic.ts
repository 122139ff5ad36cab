// The agent's driver `nic` with the kernel's drivers igb, igbvf and vfio-pci, Debian's iproute2,
// and the network card `igb` of QEMU, which has seven virtual functions. What a tenant changes is
// changed through both ends: the physical function, and the virtual one.

import assert from 'node:assert/strict';
import { untilHealth, untilIncident } from '#test/kernel/faults.ts';
import { bindTo, type Guest, type GuestProcess } from '#test/kernel/machine/guest.ts';
import type { Group, Scenario } from '#test/kernel/scenario.ts';
import {
  arqOf,
  createActiveServer,
  createFlavor,
  deleteServer,
  untilInventory,
  untilProducts,
} from '#test/kernel/servers.ts';
import type { Stage } from '#test/kernel/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

const devices = '/sys/bus/pci/devices';
const card = '0000:02:00.0';
const provider = `kernel-4.example_${card}`;
const hostname = 'kernel-4.example';
const records = '/var/lib/cyborg-agent/drivers/nic/functions.json';
const tenantMac = '02:11:22:33:44:55';
/** What a virtual function has that the kernel has just made. */
const untouched = {
  address: '00:00:00:00:00:00',
  vlan_list: [{}],
  rate: { max_tx: 0, min_tx: 0 },
  spoofchk: true,
  trust: false,
  link_state: 'auto',
};
const running: { agent?: GuestProcess; server?: string; address?: string } = {};

/** Bits of the register Uncorrectable Error Status; only the second one is fatal. */
const [poisonedPacket, dataLinkError] = [0x1000, 0x10];

/**
 * What the kernel's aer_inject takes (drivers/pci/pcie/aer_inject.c), for bus 2. QEMU's igb sends
 * no errors of its own: the bits that enable them in its configuration space cannot be set.
 */
function errorWith(status: number): Buffer {
  const error = Buffer.alloc(32);
  error.writeUInt8(2, 0);
  error.writeUInt32LE(status, 4);
  return error;
}

const settings = {
  drivers: ['nic'],
  nic: {
    cards: [
      {
        addresses: [card],
        virtual_functions: 2,
        bind_to: 'vfio-pci',
        physical_network: 'physnet1',
        function: 'gtpv1',
      },
    ],
  },
};

async function interfaceOf(guest: Guest, address: string): Promise<string> {
  const [name = ''] = await eventually(
    () => guest.list(`${devices}/${address}/net`).catch(() => []),
    (found) => found.length === 1,
  );
  return name;
}

/** What the card holds of the virtual function, as iproute2 shows it. */
async function heldOf(guest: Guest, number: number): Promise<Record<string, unknown>> {
  const name = await interfaceOf(guest, card);
  const text = await guest.run('ip', '-json', '-details', 'link', 'show', 'dev', name);
  const [link] = JSON.parse(text) as [{ vfinfo_list: Record<string, unknown>[] }];
  const found = link.vfinfo_list.find(({ vf }) => vf === number);
  assert.ok(found, `The card has no virtual function ${number}.`);
  return found;
}

async function numberOf(guest: Guest, address: string): Promise<number> {
  for (const number of [0, 1]) {
    if ((await guest.link(`${devices}/${card}/virtfn${number}`)) === address) return number;
  }
  throw new Error(`${address} is no virtual function of the card.`);
}

/** Sets the VLAN as libvirt does for the port of a server. */
async function set(guest: Guest, number: number, ...args: readonly string[]): Promise<void> {
  const name = await interfaceOf(guest, card);
  await guest.run('ip', 'link', 'set', 'dev', name, 'vf', String(number), ...args);
}

async function startServer({ cloud }: Stage): Promise<void> {
  const id = await createActiveServer(cloud, 'nic');
  const arq = await arqOf(cloud, id);
  assert.equal(arq.attach_handle_type, 'PCI');
  assert.equal(arq.attach_handle_info.physical_network, 'physnet1');
  running.server = id;
  running.address = arq.function;
}

const scenarios: readonly Scenario[] = [
  {
    name: 'the agent makes the virtual functions of a network card, and binds them to VFIO',
    run: async (stage) => {
      const { guest, cloud } = stage;
      assert.equal(await guest.link(`${devices}/${card}/driver`), 'igb');
      await guest.run('ip', 'link', 'set', await interfaceOf(guest, card), 'up');
      running.agent = await stage.startAgent(settings);
      await untilProducts(cloud, hostname, ['10c9']);
      await untilInventory(cloud, provider, 'CUSTOM_NIC', 2);
      for (const number of [0, 1]) {
        const address = await guest.link(`${devices}/${card}/virtfn${number}`);
        assert.equal(await guest.link(`${devices}/${address}/driver`), 'vfio-pci');
        assert.match(await guest.read(`${devices}/${address}/uevent`), /PCI_ID=8086:10CA/);
        assert.partialDeepStrictEqual(await heldOf(guest, number), untouched);
      }
      const kept = JSON.parse(await guest.run('cat', records)) as Record<string, unknown>;
      assert.equal(Object.keys(kept).length, 2);
      await createFlavor(cloud, 'nic', {
        'resources:CUSTOM_NIC': '1',
        'trait:CUSTOM_VF': 'required',
        'trait:CUSTOM_PHYSNET1': 'required',
        'trait:CUSTOM_GTPV1': 'required',
      });
    },
  },
  {
    name: 'after its server a virtual function has neither MAC address, VLAN, rate nor trust of it',
    run: async (stage) => {
      const { guest, cloud } = stage;
      await startServer(stage);
      const number = await numberOf(guest, running.address ?? '');
      const change = ['mac', tenantMac, 'vlan', '100', 'qos', '3', 'spoofchk', 'off'];
      await set(guest, number, ...change, 'trust', 'on');
      await set(guest, number, 'max_tx_rate', '100');
      assert.partialDeepStrictEqual(await heldOf(guest, number), {
        address: tenantMac,
        vlan_list: [{ vlan: 100, qos: 3 }],
        spoofchk: false,
        trust: true,
        rate: { max_tx: 100, min_tx: 0 },
      });
      await deleteServer(cloud, running.server ?? '');
      await eventually(() => cloud.isClean(hostname), Boolean, 240);
      assert.partialDeepStrictEqual(await heldOf(guest, number), untouched);
    },
  },
  {
    name: 'a MAC address that the tenant has set by the driver of the virtual function is gone, too',
    run: async (stage) => {
      const { guest, cloud } = stage;
      await startServer(stage);
      const address = running.address ?? '';
      const number = await numberOf(guest, address);
      // The agent would bind the function back at its next discovery.
      await running.agent?.stop();
      await bindTo(guest, address, 'igbvf');
      const name = await interfaceOf(guest, address);
      await guest.run('ip', 'link', 'set', 'dev', name, 'address', tenantMac);
      await guest.run('ip', 'link', 'set', 'dev', name, 'up');
      assert.equal((await heldOf(guest, number)).address, tenantMac);
      await bindTo(guest, address, 'vfio-pci');
      running.agent = await stage.startAgent(settings);
      await deleteServer(cloud, running.server ?? '');
      await eventually(() => cloud.isClean(hostname), Boolean, 240);
      assert.partialDeepStrictEqual(await heldOf(guest, number), untouched);
      await untilInventory(cloud, provider, 'CUSTOM_NIC', 2);
    },
  },
  {
    name: 'PCIe errors that the kernel handles are a warning, or an incident if they are fatal',
    run: async (stage) => {
      const { guest, cloud } = stage;
      await guest.run('modprobe', 'aer_inject');
      await guest.save('/dev/aer_inject', errorWith(poisonedPacket));
      const warned = await untilHealth(stage, 'has had an uncorrectable PCIe error');
      await guest.save('/dev/aer_inject', errorWith(dataLinkError));
      const fatal = 'has had a fatal PCIe error, which reset its link';
      const seen = await untilIncident(stage, fatal, 20);
      const incidents = await cloud.ops('incidents', '--kind', 'unhealthy-device', '-f', 'json');
      assert.match(incidents, /Check the slot, riser and power of the card/);
      return `degraded ${warned} after the first error, incident ${seen} after the fatal one`;
    },
  },
  {
    name: 'a card that carries a route of the host is not offered as a whole',
    run: async (stage) => {
      const { guest } = stage;
      await running.agent?.stop();
      await guest.write(`${devices}/${card}/sriov_numvfs`, '0');
      const name = await interfaceOf(guest, card);
      await guest.run('ip', 'address', 'add', '192.0.2.2/24', 'dev', name);
      const whole = {
        drivers: ['nic'],
        nic: { cards: [{ addresses: card, bind_to: 'vfio-pci' }] },
      };
      running.agent = await stage.startAgent(whole);
      const has = (text: string) => (line: string) => line.includes(text);
      await running.agent.line(has(`has an address of the host: ${name}`));
      assert.equal(await guest.link(`${devices}/${card}/driver`), 'igb');
    },
  },
];

export const nic: Group = {
  name: 'NIC',
  hostname,
  networkCard: true,
  prepare: async ({ guest }: Stage) => {
    await guest.run('modprobe', '-a', 'vfio-pci', 'vfio_iommu_type1', 'igbvf');
  },
  scenarios,
};
