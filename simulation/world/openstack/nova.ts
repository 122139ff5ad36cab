// A fake Nova that sends the requests of a real one in the same order: the conductor creates and
// binds ARQs; nova-compute registers its waiters, lists the ARQs, and fails the build on an error.
// nova/conductor/manager.py, nova/compute/manager.py (_get_bound_arq_resources)

import type { Random } from '#simulation/random.ts';
import type { Process, Timeline } from '#simulation/timeline.ts';
import type { Violate } from '#simulation/violation.ts';
import type { Answer, CallApi } from '#simulation/world/api.ts';
import type { Host } from '#simulation/world/host.ts';
import type { ServerEvent, SimulatedOpenStack } from './openstack.ts';
import { checkDevices, checkRestart, leaveDevices } from './promised-devices.ts';
import { schedule } from './scheduler.ts';

/** nova.conf's arq_binding_timeout. */
const bindingTimeoutMs = 300_000;
/** Long enough for the consumers to be retried. */
const toldWithinMs = 120_000;

export interface Profile {
  readonly name: string;
  readonly groups: readonly Readonly<Record<string, string>>[];
}

type ServerStatus = 'BUILD' | 'ACTIVE' | 'ERROR' | 'DELETED';

export interface Server {
  readonly uuid: string;
  readonly profile: Profile;
  status: ServerStatus;
  host?: string | undefined;
  /** ARQs that the server runs with. */
  arqs: readonly ShownArq[];
  /** The body of the last bind. */
  patch?: Readonly<Record<string, readonly object[]>>;
  /** Whether the control plane knew the boot of the host when Nova last listed the ARQs. */
  isBootKnown: boolean;
  /** When it was deleted, if no host had it then; ms. */
  neverBuiltSince?: number;
  /** Its provider was deleted in Placement, and its allocation before. */
  hasLostAllocation?: true;
  /** The ARQs were unbound or deleted by another caller. */
  hasLostArqs: boolean;
}

export interface ShownArq {
  readonly uuid: string;
  readonly state: string;
  readonly hostname: string;
  readonly device_rp_uuid: string;
  readonly device_profile_group_id: number;
  readonly attach_handle_type: string;
  readonly attach_handle_uuid: string | null;
  readonly attach_handle_info: Readonly<Record<string, string>>;
}

export interface NovaParts {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly openstack: SimulatedOpenStack;
  readonly hosts: readonly Host[];
  readonly api: CallApi;
  readonly violate: Violate;
  /** Whether the control plane has a report of the present boot; before it, losses are unknown. */
  readonly knowsBoot: (host: Host) => boolean;
  /** When the stored binding of the instance became Bound; undefined if it is not. */
  readonly boundAt: (instance: string) => number | undefined;
  readonly spawn: (name: string) => Process;
  /** How often another caller competes with a bind, from 0 to 1. */
  readonly competition: number;
  /** Lists a failed bind instead of a 409, as without the guard `failed bind is an error`. */
  readonly seesFailedBinds: boolean;
}

export interface SimulatedNova {
  readonly servers: readonly Server[];
  boot(profile: Profile): Promise<Server>;
  delete(server: Server): Promise<void>;
  /** Deletes a server that no host has: Nova deletes no ARQs then, and nova-compute stops. */
  deleteDuringBuild(server: Server): void;
  hardReboot(server: Server): Promise<void>;
  /** Unbinds the ARQs, binds them again, and deletes them, as an operator can at any time. */
  unbindAndRebind(server: Server, afterMs?: number): Promise<void>;
  /** Binds the ARQs to another instance, and deletes them. */
  bindElsewhere(server: Server): Promise<void>;
  /** Deletes the ARQs of the server. */
  deleteArqs(server: Server): Promise<void>;
  /** Offloads the server and brings it back; the delete of its ARQs may be lost. */
  shelveAndUnshelve(server: Server): Promise<void>;
  /** Moves the server from a host that is down to another. */
  evacuate(server: Server): Promise<void>;
}

export function createNova(parts: NovaParts): SimulatedNova {
  const { timeline, random, openstack, hosts, api, violate } = parts;
  const servers: Server[] = [];

  /** The waiters for events of one server. */
  interface Waiters {
    readonly waiting: Map<string, (status: ServerEvent['status'] | 'timeout') => void>;
  }
  const waiters = new Map<string, Waiters>();

  function register(server: Server, host?: string): void {
    openstack.servers.set(server.uuid, {
      projectId: 'demo',
      ...(host && { host }),
      onEvent: ({ tag, status }) => waiters.get(server.uuid)?.waiting.get(tag)?.(status),
    });
  }

  async function boot(profile: Profile): Promise<Server> {
    const server: Server = {
      uuid: random.uuid(),
      profile,
      status: 'BUILD',
      arqs: [],
      isBootKnown: false,
      hasLostArqs: false,
    };
    servers.push(server);
    register(server);
    await build(server, []);
    return server;
  }

  async function build(server: Server, avoided: readonly string[]): Promise<void> {
    const process = parts.spawn(`nova ${server.uuid.slice(0, 8)}`);
    const created = await api(process, 'POST', '/accelerator_requests', {
      device_profile_name: server.profile.name,
    });
    if (created.status !== 201) return fail(server);
    const arqs = created.json.arqs as readonly ShownArq[];
    const chosen = schedule(parts, server, avoided);
    const uuids = arqs.map(({ uuid }) => uuid);
    if (!chosen) {
      await deleteByUuid(process, uuids);
      return fail(server);
    }
    const patch = Object.fromEntries(
      arqs.map((arq) => [
        arq.uuid,
        [
          { op: 'add', path: '/hostname', value: chosen.host },
          {
            op: 'add',
            path: '/device_rp_uuid',
            value: chosen.providers[arq.device_profile_group_id],
          },
          { op: 'add', path: '/instance_uuid', value: server.uuid },
        ],
      ]),
    );
    server.patch = patch;
    if (random.chance(parts.competition)) compete(server, patch);
    const bound = await api(process, 'PATCH', '/accelerator_requests', patch);
    if (bound.status >= 400) {
      await deleteByUuid(process, uuids);
      return fail(server);
    }
    await spawn(process, server, chosen.host, uuids);
  }

  /** Competes with the bind: the same bind, a bind to another instance, or a delete. */
  function compete(server: Server, patch: NonNullable<Server['patch']>): void {
    const process = parts.spawn(`nova concurrent ${server.uuid.slice(0, 8)}`);
    const ways = [
      () => api(process, 'PATCH', '/accelerator_requests', patch),
      () => bindElsewhere(server),
      () => deleteArqs(server, random.between(0, 60)),
    ];
    void random.pick(ways)();
  }

  async function bindElsewhere(server: Server): Promise<void> {
    const { patch } = server;
    if (!patch) return;
    const process = parts.spawn(`nova concurrent ${server.uuid.slice(0, 8)}`);
    const instance = random.uuid();
    const forCompetitor = Object.fromEntries(
      Object.entries(patch).map(([arq, operations]) => [
        arq,
        operations.map((operation) =>
          (operation as { path: string }).path === '/instance_uuid'
            ? { ...operation, value: instance }
            : operation,
        ),
      ]),
    );
    server.hasLostArqs = true;
    await api(process, 'PATCH', '/accelerator_requests', forCompetitor);
    await timeline.sleep(process, random.between(10, 60_000));
    await api(process, 'DELETE', `/accelerator_requests?instance=${instance}`);
  }

  async function deleteArqs(server: Server, afterMs = 0): Promise<void> {
    const { patch } = server;
    if (!patch) return;
    const process = parts.spawn(`nova concurrent ${server.uuid.slice(0, 8)}`);
    server.hasLostArqs = true;
    await timeline.sleep(process, afterMs);
    await deleteByUuid(process, Object.keys(patch));
  }

  function bootOf({ host }: Server): string | undefined {
    return hosts.find(({ name, isUp }) => name === host && isUp)?.bootId();
  }

  /** nova-compute. */
  async function spawn(
    process: Process,
    server: Server,
    host: string,
    uuids: readonly string[],
  ): Promise<void> {
    await timeline.sleep(process, random.between(10, 3000));
    // "Instance disappeared before build."
    if (!openstack.servers.has(server.uuid)) return deallocate(server);
    server.host = host;
    const boot = bootOf(server);
    register(server, host);
    const got = await boundArqs(process, server, uuids);
    // Nova saves the state of a build only while the server is not being deleted.
    if (server.status !== 'BUILD') {
      await deleteByUuid(process, uuids);
      // It aborts the build, and with it what came back after the deletion.
      if (server.status === 'DELETED') openstack.servers.delete(server.uuid);
      deallocate(server);
      return;
    }
    // If the host rebooted, nova-compute fails the build when it starts.
    const isSameBoot = boot !== undefined && bootOf(server) === boot;
    if (!got || !isSameBoot) {
      await deleteByInstance(process, server);
      await deleteByUuid(process, uuids);
      return fail(server);
    }
    server.arqs = got;
    server.status = 'ACTIVE';
    checkDevices(parts, server, uuids);
  }

  async function boundArqs(
    process: Process,
    server: Server,
    uuids: readonly string[],
  ): Promise<readonly ShownArq[] | undefined> {
    const received = new Map<string, ServerEvent['status'] | 'timeout'>();
    const waiting: Waiters['waiting'] = new Map();
    const all = uuids.map(
      (uuid) =>
        new Promise<void>((resolve) => {
          waiting.set(uuid, (status) => {
            if (received.has(uuid)) return;
            received.set(uuid, status);
            resolve();
          });
        }),
    );
    waiters.set(server.uuid, { waiting });
    timeline.at(timeline.now() + bindingTimeoutMs, () => {
      for (const uuid of uuids.filter((each) => !received.has(each))) checkTold(server, uuid);
      for (const each of waiting.values()) each('timeout');
    });
    const first = await list(process, server);
    if (!first) return undefined;
    const resolved = first.filter(({ state }) =>
      ['Bound', 'BindFailed', 'Deleting'].includes(state),
    );
    // Early events: Nova ends the wait for resolved ARQs, bound or failed.
    for (const { uuid } of resolved) waiting.get(uuid)?.('completed');
    await Promise.all(all);
    waiters.delete(server.uuid);
    if ([...received.values()].some((status) => status !== 'completed')) return undefined;
    const isAll = uuids.every((uuid) => resolved.some((arq) => arq.uuid === uuid));
    return isAll ? resolved : await list(process, server);
  }

  /** Nova waits in vain only if its event could not be sent, or was lost. */
  function checkTold({ uuid, profile, status, hasLostArqs }: Server, arq: string): void {
    if (status !== 'BUILD' || hasLostArqs) return;
    const since = parts.boundAt(uuid) ?? Number.POSITIVE_INFINITY;
    const outageMs = timeline.now() - openstack.outageMetAt;
    const isLate = timeline.now() - since < toldWithinMs || outageMs < bindingTimeoutMs;
    // With `eventStyle: spec` the event has the profile's name, for which no Nova waits.
    const isTold = [arq, profile.name].some((tag) => openstack.eventsSent.has(`${uuid} ${tag}`));
    if (isLate || isTold) return;
    violate('L2', `Nova was not notified that ARQ ${arq} of ${uuid} is Bound`);
  }

  /** Nova takes an empty list, or any status but 200, as an error. */
  async function list(process: Process, server: Server): Promise<readonly ShownArq[] | undefined> {
    const path = `/accelerator_requests?instance=${server.uuid}`;
    const node = hosts.find(({ name }) => name === server.host);
    server.isBootKnown = node !== undefined && parts.knowsBoot(node);
    let answer = await api(process, 'GET', path);
    if (parts.seesFailedBinds && answer.status === 409) {
      answer = await api(process, 'GET', `${path}&bind_state=resolved`);
    }
    const arqs = answer.status === 200 ? (answer.json.arqs as readonly ShownArq[]) : [];
    return arqs.length > 0 ? arqs : undefined;
  }

  async function deleteByUuid(process: Process, uuids: readonly string[]): Promise<Answer> {
    return api(process, 'DELETE', `/accelerator_requests?arqs=${uuids.join(',')}`);
  }

  async function deleteByInstance(process: Process, server: Server): Promise<boolean> {
    const answer = await api(process, 'DELETE', `/accelerator_requests?instance=${server.uuid}`);
    return answer.status === 204;
  }

  function fail(server: Server): void {
    server.status = 'ERROR';
    server.arqs = [];
    deallocate(server);
  }

  function deallocate({ uuid }: Server): void {
    delete openstack.placement.consumers[uuid];
  }

  return {
    servers,
    boot,
    bindElsewhere,
    deleteArqs,
    async delete(server) {
      const process = parts.spawn(`nova delete ${server.uuid.slice(0, 8)}`);
      // Nova destroys the guest first.
      leaveDevices(hosts, server);
      // Nova only logs a failed request to Cyborg.
      await deleteByInstance(process, server);
      server.status = 'DELETED';
      server.arqs = [];
      openstack.servers.delete(server.uuid);
      deallocate(server);
    },
    deleteDuringBuild(server) {
      if (server.host !== undefined) return;
      server.neverBuiltSince = timeline.now();
      server.status = 'DELETED';
      openstack.servers.delete(server.uuid);
      deallocate(server);
    },
    async hardReboot(server) {
      const process = parts.spawn(`nova reboot ${server.uuid.slice(0, 8)}`);
      const boot = bootOf(server);
      const arqs = await list(process, server);
      if (arqs && boot === bootOf(server)) checkRestart(parts, server, arqs);
    },
    async unbindAndRebind(server, afterMs) {
      const { patch } = server;
      if (!patch || server.status === 'DELETED') return;
      server.hasLostArqs = true;
      const process = parts.spawn(`nova operator ${server.uuid.slice(0, 8)}`);
      const removal = Object.fromEntries(
        Object.entries(patch).map(([arq, operations]) => [
          arq,
          operations.map((operation) => ({ ...operation, op: 'remove' })),
        ]),
      );
      await api(process, 'PATCH', '/accelerator_requests', removal);
      await timeline.sleep(process, afterMs ?? random.between(10, 60_000));
      if (afterMs !== undefined || random.chance(0.7))
        await api(process, 'PATCH', '/accelerator_requests', patch);
      await timeline.sleep(process, random.between(10, 120_000));
      await this.delete(server);
      // Repeat until they are deleted: no other process deletes an unbound ARQ.
      for (;;) {
        const { status } = await deleteByUuid(process, Object.keys(patch));
        if (status === 204 || status === 404) return;
        await timeline.sleep(process, 5000);
      }
    },
    async shelveAndUnshelve(server) {
      const process = parts.spawn(`nova shelve ${server.uuid.slice(0, 8)}`);
      leaveDevices(hosts, server);
      server.status = 'BUILD';
      server.arqs = [];
      if (random.chance(0.7)) await deleteByInstance(process, server);
      // Nova refuses an event for a server without a host.
      register(server);
      deallocate(server);
      await timeline.sleep(process, random.between(10, 60_000));
      await build(server, []);
    },
    async evacuate(server) {
      const process = parts.spawn(`nova evacuate ${server.uuid.slice(0, 8)}`);
      const from = server.host ?? '';
      server.status = 'BUILD';
      const isFreed = await deleteByInstance(process, server);
      if (!isFreed) server.status = 'ERROR';
      if (!isFreed) return;
      deallocate(server);
      register(server);
      await build(server, [from]);
    },
  };
}
