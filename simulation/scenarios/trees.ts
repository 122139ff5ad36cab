// Trees of providers in Placement that Nova or an operator deletes.

import { type Act, boot, inTurn } from '#simulation/world/acts.ts';
import { nicAddress } from '#simulation/world/host.ts';
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
};

/** Beside these operations. */
export const concurrentTreeOperations: Readonly<Record<string, Pick<Operation, 'about' | 'act'>>> =
  {
    'delete the provider again': { about: ['tree'], act: deleteNic },
    'delete the compute service again': {
      about: ['tree'],
      act: inTurn(deleteTrees, 2000, startComputeNodes),
    },
  };
