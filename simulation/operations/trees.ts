// Trees of providers in Placement that Nova or an operator deletes, and providers by which Nova
// offers devices of ours, too.

import {
  type Act,
  bindUnknown,
  boot,
  compareAllHosts,
  inTurn,
  plug,
  unplug,
} from '#simulation/world/acts.ts';
import { fpgaAddress, nicAddress, secondRegion } from '#simulation/world/hardware.ts';
import type { World } from '#simulation/world/world.ts';
import type { Operation } from './operations.ts';

const minuteMs = 60_000;

/**
 * Nova deletes the providers of the hosts with their compute services: children first, and none
 * that has an allocation.
 */
const deleteTrees: Act = (world) => {
  for (const { name } of world.hosts) {
    deleteProviders(world, (provider) => provider.startsWith(`${name}_`));
    deleteProviders(world, (provider) => provider === name);
  }
};

/** nova-compute starts on the hosts, and makes their compute nodes anew. */
const startComputeNodes: Act = ({ hosts, openstack, random }) => {
  const { providers } = openstack.placement;
  for (const { name } of hosts) {
    if (Object.values(providers).some((each) => each.name === name)) continue;
    const uuid = random.uuid();
    const rest = { generation: 0, parent: null, inventories: {}, traits: [] };
    providers[uuid] = { uuid, name, ...rest };
  }
};

function deleteProviders({ openstack }: World, isNamed: (name: string) => boolean): void {
  const { providers, consumers } = openstack.placement;
  for (const { uuid, name } of Object.values(providers).toReversed()) {
    const isHeld = Object.values(consumers).some(({ allocations }) => allocations[uuid]);
    const isParent = Object.values(providers).some(({ parent }) => parent === uuid);
    if (isNamed(name) && !isHeld && !isParent) delete providers[uuid];
  }
}

/** An operator deletes the provider of the NIC by hand. */
const deleteNic: Act = (world) => deleteProviders(world, (name) => name.includes(`_${nicAddress}`));

/** The same, and before it the allocations of the servers that have it. */
const deleteHeldNic: Act = (world) => {
  for (const server of world.nova.servers) {
    delete world.openstack.placement.consumers[server.uuid];
    server.hasLostAllocation = true;
  }
  return deleteNic(world);
};

/** Nova tracks the device of each host in Placement, because its settings name it. */
const offerByNova =
  (address: string): Act =>
  ({ hosts, openstack, random }) => {
    const { providers } = openstack.placement;
    for (const { name } of hosts) {
      const parent = Object.values(providers).find((each) => each.name === name)?.uuid ?? null;
      const uuid = random.uuid();
      const traits = ['OWNER_NOVA'];
      const ofDevice = `${name}_${address.toUpperCase()}`;
      providers[uuid] = { uuid, name: ofDevice, generation: 1, parent, inventories: {}, traits };
    }
  };

/** The devices were taken out of Nova's settings. */
const giveUp: Act = ({ openstack: { placement } }) => {
  for (const { uuid, traits } of Object.values(placement.providers)) {
    if (traits.includes('OWNER_NOVA')) delete placement.providers[uuid];
  }
};

/** The device has the mark before the operation begins. */
const offeredByNova = (address: string, before: Act = () => {}) => ({
  prepare: inTurn(before, minuteMs, inTurn(offerByNova(address), 0, compareAllHosts)),
  prepareMs: 3 * minuteMs,
});

export const treeOperations: Readonly<Record<string, Operation>> = {
  'delete a provider by hand': {
    about: ['tree', 'NIC'],
    // The host's comparison with Placement is over: only a look repairs what follows.
    prepareMs: 15 * minuteMs,
    act: deleteNic,
  },
  'delete the provider of a bound NIC by hand': {
    about: ['tree'],
    prepare: boot('nic'),
    act: deleteHeldNic,
  },
  'delete a compute service': {
    about: ['tree'],
    act: inTurn(deleteTrees, 30_000, startComputeNodes),
  },
  'restart a compute service that was deleted': {
    about: ['tree', 'host'],
    prepare: deleteTrees,
    prepareMs: 70_000,
    act: startComputeNodes,
  },
  'offer the NIC by Nova, too, until a look finds it': {
    about: ['owner', 'NIC'],
    // The host's comparison with Placement is over.
    prepareMs: 15 * minuteMs,
    act: inTurn(offerByNova(nicAddress), 5 * minuteMs, giveUp),
  },
  'offer the NIC by Nova, too': {
    about: ['owner'],
    act: inTurn(offerByNova(nicAddress), 0, compareAllHosts),
  },
  'offer an FPGA with two regions by Nova, too': {
    about: ['owner'],
    prepare: plug(secondRegion),
    act: inTurn(offerByNova(fpgaAddress), 0, compareAllHosts),
  },
  'bind a NIC that Nova offers, too': {
    about: ['owner'],
    ...offeredByNova(nicAddress, boot('nic')),
    act: bindUnknown,
  },
  'cease to offer the NIC by Nova': {
    about: ['owner'],
    ...offeredByNova(nicAddress),
    act: inTurn(giveUp, 0, compareAllHosts),
  },
  'cease to offer an FPGA with two regions by Nova': {
    about: ['owner'],
    ...offeredByNova(fpgaAddress, plug(secondRegion)),
    act: inTurn(giveUp, 0, compareAllHosts),
  },
};

/** Beside these operations. */
export const concurrentTreeOperations: Readonly<
  Record<string, Pick<Operation, 'about' | 'act'> & { readonly of?: readonly string[] }>
> = {
  'delete the provider again': { about: ['tree'], act: deleteNic },
  'delete the compute service again': {
    about: ['tree'],
    act: inTurn(deleteTrees, 2000, startComputeNodes),
  },
  'cease to offer the devices by Nova': {
    about: ['owner'],
    act: inTurn(giveUp, 0, compareAllHosts),
  },
  'unplug the NIC, and delete its last row late': {
    about: ['owner'],
    of: ['offer the NIC by Nova, too', 'cease to offer the NIC by Nova'],
    act: (world) => {
      for (const ms of [0, 20_000]) world.stall('provider-syncs', 'DynamoDB Delete', ms);
      unplug(nicAddress)(world);
    },
  },
  'unplug the second region of the FPGA': {
    about: ['owner'],
    of: [
      'offer an FPGA with two regions by Nova, too',
      'cease to offer an FPGA with two regions by Nova',
    ],
    act: unplug(secondRegion),
  },
};
