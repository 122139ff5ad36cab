// Boots, reboots and deletes servers with accelerators, with the requests and order of a real
// Nova: nova-conductor schedules, creates the ARQs and starts the bind; nova-compute claims the
// server, registers for the events, lists the ARQs, waits, and lists them again.

import { setTimeout } from 'node:timers/promises';
import type { Keystone } from '#core/clients/openstack/keystone/keystone.ts';
import type { State } from '#local/openstack/state-file.ts';
import {
  type AcceleratorApi,
  AcceleratorCallFailed,
  type Binding,
  createAcceleratorApi,
  type ProfileGroup,
} from './accelerators.ts';
import type { Waiter, Waiters } from './events.ts';
import type { Destination, Scheduler } from './scheduler.ts';
import { type Arq, deleteServer, type NovaState, profileName, type Server } from './state.ts';

interface BuildOptions {
  readonly state: State<NovaState>;
  readonly keystone: Keystone;
  readonly scheduler: Scheduler;
  readonly waiters: Waiters;
  /** Nova's [compute] arq_binding_timeout. */
  readonly arqBindingTimeoutMs: number;
  /**
   * The time from conductor to compute through the message bus: some 100 ms in a real Nova. Events
   * that arrive meanwhile get 422.
   */
  readonly handOverMs: number;
}

export interface Builder {
  build(server: Server, groups: readonly ProfileGroup[], userToken: string): Promise<void>;
  reboot(server: Server, userToken: string): Promise<void>;
  /**
   * Without a user's token, in Nova's own name: a restarted Nova continues a delete that was
   * begun.
   */
  remove(server: Server, userToken?: string): Promise<void>;
  /** Stops all tasks without cleanup, as a kill does. */
  stop(): void;
}

// The states that Nova counts as resolved. Nova filters the list itself.
const resolvedStates = ['Bound', 'BindFailed', 'Deleting'];

export function createBuilder(options: BuildOptions): Builder {
  const { state, keystone, scheduler, waiters } = options;
  // One task at a time for each server, as under nova-compute's lock.
  const lastTask = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  const { signal } = stopping;

  function inTurn(server: Server, task: () => Promise<void>): Promise<void> {
    const before = lastTask.get(server.id) ?? Promise.resolve();
    const after = before.then(task).catch((error: unknown) => {
      if (signal.aborted) return;
      // An unexpected error in Nova becomes the server's fault.
      update(server, { status: 'ERROR', taskState: null, fault: String(error) });
    });
    lastTask.set(server.id, after);
    return after;
  }

  function update(server: Server, changes: Partial<Server>): void {
    signal.throwIfAborted();
    Object.assign(server, changes, { updatedAt: new Date().toISOString() });
    state.save();
  }

  async function build(server: Server, groups: readonly ProfileGroup[], api: AcceleratorApi) {
    const destination = await scheduler.claim(server, groups);
    if (!destination) {
      update(server, { status: 'ERROR', taskState: null, fault: 'No valid host was found. ' });
      return;
    }
    let arqUuids: string[];
    try {
      arqUuids = await createAndBind(server, destination, api);
    } catch (error) {
      // Like Nova, keep the allocation until the server is deleted.
      update(server, { status: 'ERROR', taskState: null, fault: messageOf(error) });
      return;
    }
    await setTimeout(options.handOverMs, undefined, { signal });
    update(server, { host: destination.host, taskState: 'spawning' });
    try {
      const arqs = arqUuids.length > 0 ? await boundArqs(server, arqUuids, api) : [];
      update(server, { status: 'ACTIVE', taskState: null, arqs });
    } catch {
      signal.throwIfAborted();
      await cleanUp(server, arqUuids, api);
      const fault = `Build of instance ${server.id} aborted: Failure getting accelerator requests.`;
      update(server, { status: 'ERROR', taskState: null, host: null, fault });
    }
  }

  /** nova-conductor. */
  async function createAndBind(
    server: Server,
    { host, providers }: Destination,
    api: AcceleratorApi,
  ) {
    const profile = profileName(server);
    if (profile === undefined) return [];
    const arqs = await api.createArqs('nova-conductor', profile).catch((error: unknown) => {
      throw new Error(`Failed to create accelerator requests: ${messageOf(error)}`);
    });
    const bindings: Record<string, Binding> = {};
    for (const { uuid, device_profile_group_id } of arqs) {
      const provider = providers[`device_profile_${device_profile_group_id}`];
      if (provider === undefined) throw new Error(`'device_profile_${device_profile_group_id}'`);
      bindings[uuid] = { hostname: host, device_rp_uuid: provider, instance_uuid: server.id };
    }
    const uuids = Object.keys(bindings);
    try {
      await api.bindArqs('nova-conductor', bindings);
    } catch (error) {
      await ignoringFailure(api.deleteByUuids('nova-conductor', uuids));
      throw new Error(`Failed to bind accelerator requests: ${messageOf(error)}`);
    }
    return uuids;
  }

  /** nova-compute's part; throws if the build must be aborted. */
  async function boundArqs(server: Server, uuids: readonly string[], api: AcceleratorApi) {
    const expected = new Map(uuids.map((uuid) => [uuid, waiters.expect(server.id, uuid)]));
    const all = [...expected.values()];
    try {
      const arqs = await api.arqsOf('nova-compute', server.id);
      const resolved = arqs.filter(({ state: now }) => resolvedStates.includes(now));
      // Their events may have come before the wait. BindFailed counts as well: Nova does not check
      // it.
      for (const { uuid } of resolved) expected.delete(uuid);
      await allCompleted([...expected.values()], options.arqBindingTimeoutMs, signal);
      return isSameSet(resolved, uuids) ? resolved : api.arqsOf('nova-compute', server.id);
    } finally {
      for (const waiter of all) waiter.cancel();
    }
  }

  async function cleanUp(server: Server, arqUuids: readonly string[], api: AcceleratorApi) {
    // The second delete is for the same ARQs: Nova only logs its 404.
    await ignoringFailure(api.deleteByInstance('nova-compute', server.id));
    await ignoringFailure(api.deleteByUuids('nova-compute', arqUuids));
    await scheduler.release(server.id);
  }

  return {
    build: (server, groups, userToken) =>
      inTurn(server, () => build(server, groups, createAcceleratorApi(keystone, userToken))),

    reboot: (server, userToken) =>
      inTurn(server, async () => {
        const api = createAcceleratorApi(keystone, userToken);
        if (profileName(server) !== undefined) {
          // With the fake virt driver the server ends ACTIVE even if this fails.
          await ignoringFailure(api.arqsOf('nova-compute', server.id));
        }
        update(server, { status: 'ACTIVE', taskState: null });
      }),

    remove: (server, userToken) =>
      inTurn(server, async () => {
        const api = createAcceleratorApi(keystone, userToken ?? (await keystone.ownToken()));
        // nova-api itself deletes a server without a host.
        const by = server.host === null ? 'nova-api' : 'nova-compute';
        if (profileName(server) !== undefined) {
          // If this fails, Nova deletes the server anyway, and never repeats the request.
          await ignoringFailure(api.deleteByInstance(by, server.id));
        }
        await scheduler.release(server.id);
        signal.throwIfAborted();
        deleteServer(state.now, server);
        lastTask.delete(server.id);
        state.save();
      }),

    stop: () => stopping.abort(),
  };
}

async function allCompleted(
  expected: readonly Waiter[],
  timeoutMs: number,
  stopping: AbortSignal,
): Promise<void> {
  const done = new AbortController();
  const signal = AbortSignal.any([done.signal, stopping]);
  const timeout = setTimeout(timeoutMs, undefined, { signal }).then(() => {
    throw new Error('InstanceEventTimeout');
  });
  const all = Promise.all(
    expected.map(async ({ arrived }) => {
      const status = await arrived;
      if (status !== 'completed') throw new Error(`An accelerator request is ${status}.`);
    }),
  );
  try {
    await Promise.race([all, timeout]);
  } finally {
    done.abort();
  }
}

function isSameSet(arqs: readonly Arq[], uuids: readonly string[]): boolean {
  const listed = arqs.map(({ uuid }) => uuid).sort();
  return listed.join() === [...uuids].sort().join();
}

async function ignoringFailure(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof AcceleratorCallFailed)) throw error;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
