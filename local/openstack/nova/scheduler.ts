// The scheduler of the fake Nova: request groups of flavor and device profile, Placement's
// candidates for them, and the claim of the first candidate that is still free.

import * as z from 'zod';
import { createHttp } from '#core/clients/http.ts';
import type { Keystone } from '#core/clients/openstack/keystone/keystone.ts';
import { createPlacement, type Placement } from '#core/clients/openstack/placement.ts';
import { type CallService, createServiceCalls } from '#core/clients/openstack/service-calls.ts';
import { standardClasses } from '#local/openstack/placement/names.ts';
import type { ProfileGroup } from './accelerators.ts';
import type { NovaState, Server } from './state.ts';

export interface Destination {
  readonly host: string;
  /** Provider by requester id of the group, `device_profile_<index>`. */
  readonly providers: Readonly<Record<string, string>>;
}

export interface Scheduler {
  /** Undefined for "No valid host". */
  claim(server: Server, groups: readonly ProfileGroup[]): Promise<Destination | undefined>;
  release(serverId: string): Promise<void>;
  /** Adds a compute node, as nova-compute does at its start. Returns the uuid of its provider. */
  addHost(name: string): Promise<string>;
}

export function createScheduler(identity: Keystone, state: NovaState): Scheduler {
  const http = createHttp();
  const headers = { 'OpenStack-API-Version': 'placement 1.36' };
  const call = createServiceCalls(http, identity, { type: 'placement', headers });
  const placement = createPlacement({ identity, http });
  return {
    claim: (server, groups) => claim(call, state, server, groups),
    release: async (serverId) => {
      // 404: the server had no allocation.
      await call('DELETE', `/allocations/${serverId}`);
    },
    addHost: (name) => addHost(placement, name),
  };
}

async function claim(
  call: CallService,
  state: NovaState,
  server: Server,
  groups: readonly ProfileGroup[],
): Promise<Destination | undefined> {
  const { answer } = await call('GET', `/allocation_candidates?${candidateQuery(server, groups)}`);
  // Placement refuses invalid groups; Nova then has no candidate.
  if (answer.status !== 200) return undefined;
  for (const { allocations, mappings } of candidates.parse(answer.body).allocation_requests) {
    const root = mappings['']?.[0];
    const host = Object.keys(state.hosts).find((name) => state.hosts[name] === root);
    if (host === undefined) continue;
    const { answer: claimed } = await call('PUT', `/allocations/${server.id}`, {
      allocations,
      mappings,
      project_id: server.projectId,
      user_id: server.userId,
      consumer_generation: null,
    });
    if (claimed.status !== 204) continue;
    const providers = Object.entries(mappings).flatMap(([id, [uuid]]) =>
      uuid ? [[id, uuid]] : [],
    );
    return { host, providers: Object.fromEntries(providers) };
  }
  return undefined;
}

const candidates = z.object({
  allocation_requests: z.array(
    z.object({
      allocations: z.record(z.string(), z.unknown()),
      mappings: z.record(z.string(), z.array(z.string())),
    }),
  ),
});

function candidateQuery(server: Server, groups: readonly ProfileGroup[]): URLSearchParams {
  const { vcpus, ram, disk } = server.flavor;
  const disks = disk > 0 ? `,DISK_GB:${disk}` : '';
  const query = new URLSearchParams({ resources: `VCPU:${vcpus},MEMORY_MB:${ram}${disks}` });
  for (const [index, group] of groups.entries()) {
    const { resources, required } = requestGroup(group);
    if (resources) query.set(`resourcesdevice_profile_${index}`, resources);
    if (required) query.set(`requireddevice_profile_${index}`, required);
  }
  if (groups.length > 1) query.set('group_policy', 'none');
  query.set('limit', '1000');
  return query;
}

/** Nova ignores `accel:` keys, and drops a class that Placement does not know with a warning. */
function requestGroup(group: ProfileGroup): { resources: string; required: string } {
  const resources: string[] = [];
  const required: string[] = [];
  for (const [key, value] of Object.entries(group)) {
    const [, kind, name = ''] = /^(resources|trait)(?:[a-zA-Z0-9_-]{1,64})?:(.*)$/.exec(key) ?? [];
    const isKnown = standardClasses.has(name) || name.startsWith('CUSTOM_');
    if (kind === 'resources' && isKnown) resources.push(`${name}:${Number(value)}`);
    if (kind === 'trait' && value === 'required') required.push(name);
    if (kind === 'trait' && value === 'forbidden') required.push(`!${name}`);
  }
  return { resources: resources.join(), required: required.join() };
}

async function addHost(placement: Placement, name: string): Promise<string> {
  const existing = await placement.findProviderByName(name);
  const provider =
    existing ?? (await placement.createProvider({ uuid: crypto.randomUUID(), name }));
  const held = await placement.getInventories(provider.uuid);
  if (held && Object.keys(held.inventories).length > 0) return provider.uuid;
  const generation = await placement.putInventories(provider.uuid, provider.generation, {
    VCPU: { total: 64, max_unit: 64, allocation_ratio: 16 },
    MEMORY_MB: { total: 262_144, max_unit: 262_144, reserved: 512, allocation_ratio: 1.5 },
    DISK_GB: { total: 4_096, max_unit: 4_096 },
  });
  await placement.putTraits(provider.uuid, generation, ['COMPUTE_NODE', 'COMPUTE_ACCELERATORS']);
  return provider.uuid;
}
