// Acts on a simulated cloud: those of Nova, of operators, and of a technician at the host.

import type { Caller } from '#core/domain/caller.ts';
import { grantPrograms } from '#core/operations/devices/grant-programs.ts';
import { endConflict } from '#core/operations/hosts/end-conflict.ts';
import { resetDevice } from '#core/operations/inventory/reset-device.ts';
import { backupStore } from '#core/store/backups/backups.ts';
import { toDeployable, toDevice } from '#core/store/rows/inventory-rows.ts';
import { tableName } from '#core/store/table/tables.ts';
import { foreignMdev, nicAddress } from './hardware.ts';
import type { Server, SimulatedNova } from './openstack/nova.ts';
import { projects } from './openstack/openstack.ts';
import { stage } from './stage.ts';
import type { World } from './world.ts';

export type Act = (world: World) => unknown;

export const admin: Caller = {
  requestId: 'req-0',
  userId: 'operator',
  projectId: '',
  roles: ['admin'],
  hasServiceToken: false,
};

export const boot =
  (name: string): Act =>
  (world) => {
    const profile = world.profiles.find((each) => each.name === name);
    if (!profile) throw new Error(`Unknown profile: ${name}`);
    return world.nova.boot(profile);
  };

/** Kill the agent as well, so that its next start reports the change at once. */
export const unplug =
  (address: string): Act =>
  ({ hosts }) => {
    for (const host of hosts) {
      host.hardware.present.delete(address);
      host.killAgent();
    }
  };

export const plug =
  (address: string): Act =>
  ({ hosts }) => {
    for (const host of hosts) {
      host.hardware.present.add(address);
      host.killAgent();
    }
  };

export const reboot: Act = ({ hosts }) => hosts.forEach((host) => void host.reboot(2000));

/** The image of each host starts on a second machine; its agent runs for 5 s. */
export const cloneHosts: Act = ({ hosts }) => hosts.forEach((host) => void host.clone(5000));

/**
 * Ends the identity conflict of each host with the boot id of the original. Repeats the command
 * after 22 minutes: the first may have died, or have been refused because another boot had
 * reported, which must be silent for 21.
 */
export const endConflicts: Act = ({ hosts, timeline, depsFor, spawn }) => {
  for (const host of hosts) {
    const attempt = () =>
      void endConflict(depsFor(spawn('operator')), host.name, host.bootId()).catch(() => {});
    attempt();
    timeline.at(timeline.now() + 22 * 60_000, attempt);
  }
};

export function isPlacementOut(isOut: boolean): Act {
  return ({ openstack }) =>
    isOut ? openstack.outages.add('Placement') : openstack.outages.delete('Placement');
}

/** Performs one act, and a second one later. */
export function inTurn(act: Act, afterMs: number, next: Act): Act {
  return (world) => {
    void act(world);
    world.timeline.at(world.timeline.now() + afterMs, () => void next(world));
  };
}

export function isIotOut(isOut: boolean): Act {
  return ({ iot }) => {
    iot.isOut = isOut;
  };
}

/** Reads of the GPU fail for this time after each kill of the agent. */
export function isBlindAfterKill(milliseconds: number): Act {
  return ({ hosts }) => {
    for (const { hardware } of hosts) hardware.blindAfterKillMs = milliseconds;
  };
}

export function isCellDown(isCellDown: boolean): Act {
  return ({ openstack }) => {
    openstack.isCellDown = isCellDown;
  };
}

/** Nova refuses events. */
export function isNovaOut(isNovaOut: boolean): Act {
  return ({ openstack }) =>
    isNovaOut ? openstack.outages.add('Nova') : openstack.outages.delete('Nova');
}

/**
 * Nova and Placement both answer as if no server had ever been created. A server that no look has
 * seen on its host by then counts as deleted during its build.
 */
export function isOpenStackEmpty(isOpenStackEmpty: boolean): Act {
  return ({ openstack }) => {
    openstack.isCellDown = isOpenStackEmpty;
    openstack.hasAllocations = !isOpenStackEmpty;
  };
}

export const asAdmin = (world: World, method: string, path: string, body?: unknown) =>
  world.api(world.spawn('nova operator'), method, path, body, 'admin-token');

/** A request of an admin for the FPGA region or its device. */
export function operator(
  method: string,
  path: (ids: { region: string; device: string }) => string,
) {
  return (world: World, body?: unknown) => {
    const rows = world.database.rows('inventory').filter(({ sk }) => sk === 'DEPLOYABLE');
    const fpga = rows.map(toDeployable).find(({ region }) => region !== undefined);
    const ids = { region: fpga?.uuid ?? '', device: fpga?.deviceUuid ?? '' };
    return asAdmin(world, method, path(ids), body);
  };
}

export const programRegion: Act = (world) => {
  const image = world.profiles.find(({ name }) => name === 'fpga2')?.groups[0];
  const value = [{ image_uuid: image?.['accel:bitstream_id'] }];
  return operator('PATCH', ({ region }) => `/deployables/${region}/program`)(world, [
    { op: 'replace', path: '/program', value },
  ]);
};

export const forceRelease: Act = operator(
  'POST',
  ({ device }) => `/devices/${device}/force_release`,
);

/** An operator has each device reset that no server has. */
export const resetDevices: Act = async ({ database, depsFor, spawn }) => {
  const rows = database.rows('inventory').filter(({ sk }) => String(sk).startsWith('DEVICE#'));
  const deps = depsFor(spawn('operator'));
  for (const device of rows.map(toDevice)) await resetDevice(deps, device).catch(() => {});
};

/** An operator lets a project program the NIC for an hour. */
export const grantNicTo =
  (projectId: string): Act =>
  ({ database, depsFor, spawn, timeline }) => {
    const rows = database.rows('inventory').filter(({ sk }) => String(sk).startsWith('DEVICE#'));
    const nic = rows.map(toDevice).find(({ address }) => address === nicAddress);
    if (!nic) return;
    const until = new Date(timeline.now() + 3_600_000).toISOString();
    return grantPrograms(depsFor(spawn('operator')), admin, nic.uuid, { projectId, until }).then(
      () => {},
      () => {},
    );
  };
export const grantNic = grantNicTo(projects.demo);

/** Disables all devices, as an operator does for maintenance. */
export const disableDevices: Act = (world) => {
  const rows = world.database.rows('inventory');
  for (const row of rows.filter(({ sk }) => String(sk).startsWith('DEVICE#'))) {
    const { uuid } = toDevice(row);
    void asAdmin(world, 'POST', `/devices/${uuid}/disable`).then(
      ({ status }) => status === 204 && world.disabled.add(uuid),
    );
  }
};

export const enableDevices: Act = (world) => {
  for (const uuid of world.disabled) {
    void asAdmin(world, 'POST', `/devices/${uuid}/enable`).then(
      ({ status }) => status === 204 && world.disabled.delete(uuid),
    );
  }
};

export function first({ nova }: World): Server {
  const [server] = nova.servers;
  if (!server) throw new Error('No server has been created.');
  return server;
}

export function last({ nova }: World): Server | undefined {
  return nova.servers.at(-1);
}

/** What Nova does with the newest server; nothing before there is one. */
export function withLast(act: (nova: SimulatedNova, server: Server) => unknown): Act {
  return (world) => {
    const server = last(world);
    return server && act(world.nova, server);
  };
}

export function forget(world: World): void {
  const { uuid } = first(world);
  first(world).status = 'DELETED';
  world.openstack.servers.delete(uuid);
  delete world.openstack.placement.consumers[uuid];
}

/** Deletes the allocation of the first server, so that Placement can give it to another. */
export const withoutAllocation: Act = (world) => {
  delete world.openstack.placement.consumers[first(world).uuid];
};

/** Deletes one ARQ of the last server. */
export const deleteOneArq =
  (index: number): Act =>
  async (world) => {
    const server = last(world);
    const arq = Object.keys(server?.patch ?? {}).at(index);
    if (!server || !arq) return;
    server.hasLostArqs = true;
    const process = world.spawn('nova concurrent');
    await world.api(process, 'DELETE', `/accelerator_requests?arqs=${arq}`);
  };

/** Creates other ARQs and binds them to the instance that is being bound. */
export const bindOtherArqs: Act = (world) => bindTo(world, (operation) => operation);

/** Creates ARQs and binds them to an instance without an allocation in Placement. */
export const bindUnknown: Act = (world) => {
  const value = world.random.uuid();
  return bindTo(world, (operation) =>
    operation.path === '/instance_uuid' ? { ...operation, value } : operation,
  );
};

async function bindTo(world: World, change: (operation: Operation) => Operation): Promise<void> {
  const server = last(world);
  const [bound] = Object.values(server?.patch ?? {}) as Operation[][];
  if (!server || !bound) return;
  const target = bound.map(change);
  server.hasLostArqs = true;
  const process = world.spawn('nova concurrent');
  const { json } = await world.api(process, 'POST', '/accelerator_requests', {
    device_profile_name: server.profile.name,
  });
  const uuids: string[] = (json.arqs ?? []).map(({ uuid }) => uuid);
  const patch = Object.fromEntries(uuids.map((uuid) => [uuid, target]));
  await world.api(process, 'PATCH', '/accelerator_requests', patch);
  await world.timeline.sleep(process, 40_000);
  await world.api(process, 'DELETE', `/accelerator_requests?arqs=${uuids.join(',')}`);
}

/** Creates ARQs of the last server's profile and leaves them unbound. */
export const createSpare: Act = async (world) => {
  const { json } = await world.api(world.spawn('nova'), 'POST', '/accelerator_requests', {
    device_profile_name: last(world)?.profile.name,
  });
  world.spareArqs.push(...json.arqs.map(({ uuid }: { uuid: string }) => uuid));
};

export const deleteSpare: Act = (world) =>
  world.api(
    world.spawn('nova'),
    'DELETE',
    `/accelerator_requests?arqs=${world.spareArqs.join(',')}`,
  );

/** Binds the spare ARQs to an instance without an allocation in Placement. */
export const bindSpare: Act = async (world) => {
  const [bound] = Object.values(last(world)?.patch ?? {}) as Operation[][];
  if (!bound) return;
  const value = world.random.uuid();
  const target = bound.map((operation) =>
    operation.path === '/instance_uuid' ? { ...operation, value } : operation,
  );
  const process = world.spawn('nova concurrent');
  const patch = Object.fromEntries(world.spareArqs.map((uuid) => [uuid, target]));
  await world.api(process, 'PATCH', '/accelerator_requests', patch);
  await world.timeline.sleep(process, 40_000);
  await world.api(process, 'DELETE', `/accelerator_requests?instance=${value}`);
};

interface Operation {
  readonly path: string;
  readonly value?: unknown;
}

export const deleteFirst: Act = (world) => world.nova.delete(first(world));

export const deleteLast = withLast((nova, server) => nova.delete(server));

export const deleteDuringBuild = withLast((nova, server) => nova.deleteDuringBuild(server));

/** Withholds all handles, as a restore does before it writes the rows of a backup. */
export const withholdAll: Act = ({ database }) => {
  const send = async (command: object & { readonly input: Readonly<Record<string, unknown>> }) =>
    database.execute(command.constructor.name, command.input);
  const backups = backupStore({ send } as never);
  for (const row of database.rows('inventory')) {
    if (String(row.sk).startsWith('HANDLE#')) {
      void backups.withhold(tableName(stage, 'inventory'), row, '2026-07-01T00:00:00.000Z');
    }
  }
};

/** Sends the message that starts a bind once more, for each instance. */
export const repeatBindMessages: Act = ({ database, queues }) => {
  for (const { pk, instance_uuid, bind_id } of database.rows('arqs')) {
    if (!String(pk).startsWith('INSTANCE#')) continue;
    queues.put('host-jobs', JSON.stringify({ kind: 'bind', instance_uuid, bind_id }));
  }
};

/** Queues the comparison of each host with Placement, as the sweep does. */
export const compareAllHosts: Act = ({ hosts, queues }) => {
  for (const { name: hostname } of hosts) {
    queues.put('provider-syncs', JSON.stringify({ hostname, is_comparison: true }));
  }
};

/**
 * Creates mdevs with the uuids of free handles, which no other program would choose. An agent that
 * dies after it has removed its own, and before it has stored that, cannot tell them apart.
 */
export const createForeignMdevs: Act = ({ database, hosts }) => {
  const ours = database
    .rows('inventory')
    .filter(({ type, arq_uuid }) => type === 'MDEV' && !arq_uuid);
  for (const { foreignMdevs, hardware } of hosts) {
    for (const uuid of ours.map(({ sk }) => String(sk).replace('HANDLE#', ''))) {
      if (hardware.mdevs.has(uuid) || hardware.unrecorded.has(uuid)) continue;
      foreignMdevs.add(uuid);
      hardware.mdevs.set(uuid, foreignMdev(uuid));
    }
  }
};

/** The driver of the NIC divides it further, and has the host clean its handles from now on. */
export const divideNic: Act = ({ hosts }) => {
  for (const { hardware } of hosts) {
    hardware.nic.more = 2;
    hardware.nic.cleanSeconds = 60;
  }
};

/** Every request to the devices of the host fails. */
export const isBroken =
  (isBroken: boolean): Act =>
  ({ hosts }) => {
    for (const { hardware } of hosts) hardware.isBroken = isBroken;
  };

export const loseImages: Act = ({ hosts }) => {
  for (const { hardware } of hosts) hardware.imageAtBoot = 'lost';
};

export const keepImages: Act = ({ hosts }) => {
  for (const { hardware } of hosts) hardware.imageAtBoot = 'kept';
};

/** The next boot of each host finds no state files of the agent. */
export const replaceDisks: Act = ({ hosts }) => {
  for (const { hardware } of hosts) hardware.isDiskReplaced = true;
};

/** Deletes the presence of each host, as before its first report. */
export const forgetPresence: Act = ({ database }) => {
  for (const { pk, sk } of database.rows('inventory').filter((row) => row.sk === 'HOST')) {
    database.execute('UpdateCommand', {
      TableName: tableName(stage, 'inventory'),
      Key: { pk, sk },
      UpdateExpression: 'REMOVE presence',
    });
  }
};

export const killAgents: Act = ({ hosts }) => hosts.forEach((host) => void host.killAgent());
