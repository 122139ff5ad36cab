// The state of the fake Nova: flavors, hosts, servers, and the events it got.

import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { TokenIdentity } from '#core/clients/openstack/keystone/keystone.ts';

const flavor = z.object({
  id: z.string(),
  name: z.string(),
  vcpus: z.number(),
  ram: z.number(),
  disk: z.number(),
  extra_specs: z.record(z.string(), z.string()),
});
export type Flavor = z.infer<typeof flavor>;

/** An ARQ in the accelerator API's answer. Nova stores the whole answer and reads a part of it. */
export const arq = z.looseObject({
  uuid: z.string(),
  state: z.string(),
  device_profile_group_id: z.number(),
  attach_handle_type: z.string().nullish(),
  attach_handle_info: z.unknown(),
});
export type Arq = z.infer<typeof arq>;

const server = z.object({
  id: z.string(),
  name: z.string(),
  projectId: z.string(),
  userId: z.string(),
  /** A copy: a flavor may be deleted while servers use it. */
  flavor,
  status: z.enum(['BUILD', 'ACTIVE', 'ERROR', 'SHUTOFF', 'REBOOT', 'HARD_REBOOT']),
  taskState: z.string().nullable(),
  /** Set when nova-compute claims the server; events before that get 422. */
  host: z.string().nullable(),
  fault: z.string().nullable(),
  createdAt: z.string(),
  updatedAt: z.string(),
  /** The ARQs that the virt driver got. */
  arqs: z.array(arq),
});
export type Server = z.infer<typeof server>;

const event = z.object({
  name: z.string(),
  server_uuid: z.string(),
  tag: z.string().optional(),
  status: z.string(),
  /** The code that Nova answered for the event. */
  code: z.number(),
  receivedAt: z.string(),
});
export type ReceivedEvent = z.infer<typeof event>;

const aggregate = z.object({
  id: z.number(),
  name: z.string(),
  availability_zone: z.string().nullable(),
  hosts: z.array(z.string()),
});

export const novaState = z.object({
  flavors: z.record(z.string(), flavor).default({}),
  /** Provider uuid by hypervisor hostname. */
  hosts: z.record(z.string(), z.string()).default({}),
  servers: z.record(z.string(), server).default({}),
  /** Rows that Nova keeps until its database is archived. */
  deleted: z.record(z.string(), server).default({}),
  aggregates: z.array(aggregate).default([]),
  events: z.array(event).default([]),
});
export type NovaState = z.infer<typeof novaState>;

const eventsMax = 1_000;

export function recordEvent(state: NovaState, received: ReceivedEvent): void {
  state.events.push(received);
  if (state.events.length > eventsMax) state.events.shift();
}

const deletedMax = 1_000;

export function deleteServer(state: NovaState, server: Server): void {
  delete state.servers[server.id];
  state.deleted[server.id] = server;
  const [oldest, ...others] = Object.keys(state.deleted);
  if (oldest !== undefined && others.length >= deletedMax) delete state.deleted[oldest];
}

/** The server, unless it is of another project and the caller is no admin. */
export function visibleServer(
  state: NovaState,
  id: string,
  caller: TokenIdentity,
): Server | undefined {
  const server = state.servers[id];
  const isVisible = server?.projectId === caller.projectId || caller.roles.includes('admin');
  return isVisible ? server : undefined;
}

export function profileName(server: Server): string | undefined {
  return server.flavor.extra_specs['accel:device_profile'];
}

/** The server in Nova's form, with the fields that clients of the local system read. */
export function viewServer(server: Server, caller: TokenIdentity): Record<string, unknown> {
  const { id, flavor: has } = server;
  const isRunning = server.status === 'ACTIVE' || server.status.endsWith('REBOOT');
  return {
    id,
    name: server.name,
    status: server.status,
    tenant_id: server.projectId,
    user_id: server.userId,
    metadata: {},
    hostId:
      server.host &&
      createHash('sha224')
        .update(server.projectId + server.host)
        .digest('hex'),
    image: '',
    flavor: {
      vcpus: has.vcpus,
      ram: has.ram,
      disk: has.disk,
      original_name: has.name,
      extra_specs: has.extra_specs,
    },
    created: server.createdAt,
    updated: server.updatedAt,
    addresses: {},
    'OS-EXT-STS:task_state': server.taskState,
    'OS-EXT-STS:vm_state': vmStates[server.status],
    'OS-EXT-STS:power_state': isRunning ? 1 : 0,
    ...(caller.roles.includes('admin') && {
      'OS-EXT-SRV-ATTR:host': server.host,
      'OS-EXT-SRV-ATTR:hypervisor_hostname': server.host,
    }),
    ...(server.fault !== null && {
      fault: { code: 500, created: server.updatedAt, message: server.fault },
    }),
  };
}

const vmStates: Readonly<Record<Server['status'], string>> = {
  BUILD: 'building',
  ACTIVE: 'active',
  ERROR: 'error',
  SHUTOFF: 'stopped',
  REBOOT: 'active',
  HARD_REBOOT: 'active',
};
