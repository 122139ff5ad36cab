// The guards of the product, and mutants: the product without one guard. A guard is stripped from
// the outside, by the simulated services; the product has no switch for it.

import type { Checkpoint } from '#agent/state/checkpoint.ts';
import type { PreparedMark } from '#agent/state/checkpoint-state.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import { neverBuiltMs } from '#core/domain/arq/reaper.ts';
import type { Deployable } from '#core/domain/device/device.ts';
import type { DueKind } from '#core/store/rows/shards.ts';
import { holds, type Item } from './database/expressions.ts';
import { placeholders } from './database/memory-database.ts';
import { gpuAddress, mdevType } from './world/hardware.ts';

/** A mutant, which lacks one guard, or the whole product. */
export interface Strip {
  isStripped(guard: string): boolean;
  /** Returns the input of a command without the stripped condition. */
  input(command: string, input: Input): Input;
  /** Called for each command that was refused, with access to the rows. */
  refused(input: Input, rowOf: (write: Input) => Item | undefined): void;
  deps(deps: ConsumerDeps, process: string): ConsumerDeps;
  checkpoint(checkpoint: Checkpoint): Checkpoint;
}

type Input = Readonly<Record<string, unknown>>;

/** Guards that are not conditions of writes. */
export const otherGuards = [
  'retry of TransactionConflict',
  'stream batch is redelivered',
  'history batch is redelivered',
  'message is redelivered',
  'deadline of binds',
  'deadline of releases',
  'deadline of unbound ARQs',
  'recount of quotas',
  'report looks for the card elsewhere',
  'recount bars what it takes for dead',
  'reaper',
  'reaper asks again after ten minutes',
  'reaper asks Placement',
  'look at the server of a bind',
  'second look at a server',
  'sync reads the provider again',
  'failed bind is an error',
  'list notes that Nova waits',
  'list knows which boot a connection has named',
  'end of a shared job names its binds',
  'agent refuses another boot',
  'agent claims before it acts',
  'agent records outcomes',
  'agent remembers released binds',
  'agent removes only its own mdevs',
  'agent checks images',
  'sweep looks at trees',
  'look reads generations',
  'units of lost providers stay reserved',
  'lost units count while servers hold them',
  'bind looks at the other owner',
  'bind takes sets whole',
  'bind stores its alternative',
  'bind looks at the hold',
  'report puts a new device on hold',
  'report of a revoked host is dropped',
  'bind looks for the mark of a revoked host',
  'work looks for the mark of a revoked host',
  'end of a job looks for the mark of a revoked host',
  'renewal looks for the mark of a revoked host',
] as const;
export type OtherGuard = (typeof otherGuards)[number];

export const noGuardStripped: Strip = {
  isStripped: () => false,
  input: (_command, input) => input,
  refused: () => {},
  deps: (deps) => deps,
  checkpoint: (checkpoint) => checkpoint,
};

/**
 * Records every condition of every write, and which conditions decided. A condition decides when
 * it is the only one that refuses a write: without it the write would succeed.
 */
export function recordConditions(conditions: Set<string>, decided: Set<string>): Strip {
  return {
    ...noGuardStripped,
    input: (_command, input) => {
      for (const write of writesOf(input)) {
        for (const clause of clausesOf(write)) conditions.add(nameOf(write, clause));
      }
      return input;
    },
    refused: (input, rowOf) => {
      const refusing = writesOf(input).flatMap((write) =>
        clausesOf(write)
          .filter((clause) => !holds(clause, rowOf(write) ?? {}, placeholders(write)))
          .map((clause) => nameOf(write, clause)),
      );
      const [only, ...others] = new Set(refusing);
      if (only !== undefined && others.length === 0) decided.add(only);
    },
  };
}

export function stripGuard(guard: string): Strip {
  return {
    isStripped: (name) => name === guard,
    input: (_command, input) => without(guard, input),
    refused: () => {},
    deps: (deps, process) => weakened[guard as OtherGuard]?.(deps, process) ?? deps,
    checkpoint: (checkpoint) => weakenedCheckpoint[guard as OtherGuard]?.(checkpoint) ?? checkpoint,
  };
}

/** The writes of a command: itself, or those of its transaction. */
function writesOf(input: Input): Input[] {
  const items = input.TransactItems;
  if (!Array.isArray(items)) return [input];
  return items.flatMap((each: Record<string, Input>) => Object.values(each));
}

function clausesOf({ ConditionExpression: condition }: Input): string[] {
  if (typeof condition !== 'string') return [];
  return condition.includes(' OR ') ? [condition] : condition.split(' AND ');
}

/** Attributes of a row that are members of a set. */
const members = /\b(arq|baseline|grant|hold)#[^\s).=]+/g;

/** Example: `HANDLE SET arq_uuid: epoch = :epoch`. */
function nameOf(item: Input, clause: string): string {
  const key = (item.Key ?? item.Item ?? {}) as { pk?: string; sk?: string };
  const row = /^[A-Z]+/.exec(key.sk ?? key.pk ?? '')?.[0] ?? '';
  const names = (item.ExpressionAttributeNames ?? {}) as Record<string, string>;
  const spelled = (text: string) =>
    text.replaceAll(/#\w+/g, (name) => names[name] ?? name).replaceAll(members, '$1#<id>');
  const update = typeof item.UpdateExpression === 'string' ? item.UpdateExpression : '';
  const verb =
    spelled(update).match(/^(SET|REMOVE|ADD) \w+/)?.[0] ?? (item.Item ? 'put' : 'delete');
  return `${row} ${verb}: ${spelled(clause)}`;
}

function without(guard: string, input: Input): Input {
  const items = input.TransactItems;
  if (!Array.isArray(items)) return withoutClause(guard, input);
  return {
    ...input,
    TransactItems: items.map((each: Record<string, Input>) =>
      Object.fromEntries(
        Object.entries(each).map(([kind, write]) => [kind, withoutClause(guard, write)]),
      ),
    ),
  };
}

function withoutClause(guard: string, item: Input): Input {
  const clauses = clausesOf(item);
  const left = clauses.filter((clause) => nameOf(item, clause) !== guard);
  if (left.length === clauses.length) return item;
  const { ConditionExpression: _, ...others } = item;
  return left.length === 0 ? others : { ...others, ConditionExpression: left.join(' AND ') };
}

type Weaken = (deps: ConsumerDeps, process: string) => ConsumerDeps;

function withoutDeadline(kind: DueKind): Weaken {
  return (deps) => ({
    ...deps,
    listings: {
      ...deps.listings,
      overdue: async (requested, now) =>
        requested === kind ? { uuids: [], faults: [] } : deps.listings.overdue(requested, now),
    },
  });
}

const longAgo = new Date(0).toISOString();

/** Reads each binding with other attributes. */
function withBindings(
  deps: ConsumerDeps,
  change: (binding: InstanceBinding) => Partial<InstanceBinding>,
): ConsumerDeps {
  const binding: typeof deps.store.arqs.binding = async (uuid) => {
    const stored = await deps.store.arqs.binding(uuid);
    return stored && { ...stored, ...change(stored) };
  };
  return { ...deps, store: { ...deps.store, arqs: { ...deps.store.arqs, binding } } };
}

const weakened: Partial<Record<OtherGuard, Weaken>> = {
  'deadline of binds': withoutDeadline('binding'),
  'deadline of releases': withoutDeadline('awaited'),
  'deadline of unbound ARQs': withoutDeadline('arq'),
  'recount of quotas': withoutDeadline('quota'),
  'report looks for the card elsewhere': (deps) => ({
    ...deps,
    listings: { ...deps.listings, devicesOfCard: async () => [] },
  }),
  'bind takes sets whole': (deps) => {
    const providerWith: typeof deps.store.inventory.providerWith = async (uuid, search) => {
      const stored = await deps.store.inventory.providerWith(uuid, search);
      const handles = stored?.handles.map(({ locality: _, ...handle }) => handle);
      return stored && handles && { ...stored, handles };
    };
    const inventory = { ...deps.store.inventory, providerWith };
    return { ...deps, store: { ...deps.store, inventory } };
  },
  'bind stores its alternative': (deps) => {
    const claim: typeof deps.store.bindings.claim = (binding, claims, ...rest) => {
      const first = claims.map((each) => ({
        ...each,
        arq: { ...each.arq, group: each.arq.alternatives?.[0] ?? each.arq.group },
      }));
      return deps.store.bindings.claim(binding, first, ...rest);
    };
    return { ...deps, store: { ...deps.store, bindings: { ...deps.store.bindings, claim } } };
  },
  'bind looks at the hold': (deps) =>
    bindReading(deps, (deployable) => ({ ...deployable, isOnHold: false })),
  'bind looks at the other owner': (deps) =>
    bindReading(deps, ({ offeredTwice: _, ...deployable }) => deployable),
  'report puts a new device on hold': (deps, process) => {
    if (process !== 'inventory-reports') return deps;
    const holds = { ...deps.store.holds, holds: async () => ({ holds: [], revision: 0 }) };
    return { ...deps, store: { ...deps.store, holds } };
  },
  'report of a revoked host is dropped': (deps, process) =>
    process === 'inventory-reports' ? withoutRevocations(deps) : deps,
  'bind looks for the mark of a revoked host': (deps, process) =>
    process.startsWith('api ') ? withoutRevocations(deps) : deps,
  'work looks for the mark of a revoked host': (deps, process) =>
    process === 'host-jobs' ? withoutRevocations(deps) : deps,
  'end of a job looks for the mark of a revoked host': (deps, process) =>
    process === 'job-events' ? withoutRevocations(deps) : deps,
  'recount bars what it takes for dead': (deps) => ({
    ...deps,
    store: { ...deps.store, arqs: { ...deps.store.arqs, bar: async () => true } },
  }),
  reaper: (deps, process) =>
    process === 'sweep'
      ? { ...deps, listings: { ...deps.listings, deployablesFrom: async () => [] } }
      : deps,
  'reaper asks again after ten minutes': (deps, process) =>
    process === 'sweep' ? withBindings(deps, () => ({ unusedSince: longAgo })) : deps,
  'list notes that Nova waits': (deps) => ({
    ...deps,
    store: { ...deps.store, bindings: { ...deps.store.bindings, awaitEvent: async () => true } },
  }),
  'list knows which boot a connection has named': (deps) => {
    const hostAlone: typeof deps.store.inventory.hostAlone = async (hostname) => {
      const host = await deps.store.inventory.hostAlone(hostname);
      return { ...host, ...(host.presence && { lastReportAt: host.presence.at }) };
    };
    const inventory = { ...deps.store.inventory, hostAlone };
    return { ...deps, store: { ...deps.store, inventory } };
  },
  'end of a shared job names its binds': (deps, process) => {
    if (process !== 'job-events') return deps;
    const { arqs } = deps.store;
    const jobNote: typeof arqs.jobNote = async (uuid) => {
      const note = await arqs.jobNote(uuid);
      if (!note?.bindIds) return note;
      const bindings = await Promise.all(note.instances.map((each) => arqs.binding(each)));
      return { ...note, bindIds: bindings.flatMap((binding) => binding?.bindId ?? []) };
    };
    return { ...deps, store: { ...deps.store, arqs: { ...arqs, jobNote } } };
  },
  'reaper asks Placement': (deps) => ({
    ...deps,
    clients: {
      ...deps.clients,
      placement: {
        ...deps.clients.placement,
        allocationsOf: async () => ({}),
        getAllocations: async () => ({}),
      },
    },
  }),
  'sweep looks at trees': (deps, process) =>
    process === 'sweep'
      ? { ...deps, listings: { ...deps.listings, hostsAfter: async () => [] } }
      : deps,
  'look reads generations': (deps) => {
    const { placement } = deps.clients;
    const providersInTree: typeof placement.providersInTree = async (uuid) =>
      (await placement.providersInTree(uuid)).map((each) => ({ ...each, generation: 9 }));
    return {
      ...deps,
      clients: { ...deps.clients, placement: { ...placement, providersInTree } },
    };
  },
  'units of lost providers stay reserved': (deps) => {
    const { store } = deps;
    return {
      ...deps,
      store: { ...store, reaper: { ...store.reaper, reserveLost: async () => {} } },
    };
  },
  'lost units count while servers hold them': (deps, process) => {
    if (process !== 'provider-syncs') return deps;
    const { inventory } = deps.store;
    const providers: typeof inventory.providers = async (uuids) =>
      (await inventory.providers(uuids)).map(({ deployable, handles }) => {
        return { deployable, handles: handles.filter(({ isGone }) => !isGone) };
      });
    return { ...deps, store: { ...deps.store, inventory: { ...inventory, providers } } };
  },
  'look at the server of a bind': (deps) => ({
    ...deps,
    queues: {
      send: (queue, messages, delaySeconds) =>
        deps.queues.send(
          queue,
          messages.filter((message) => !('is_look' in message)),
          delaySeconds,
        ),
    },
  }),
  'second look at a server': (deps, process) => {
    if (process !== 'nova-events') return deps;
    return withBindings(deps, ({ unusedSince, startedAt }) => {
      const earlier = new Date(Date.parse(startedAt) - neverBuiltMs).toISOString();
      return unusedSince === undefined ? {} : { unusedSince: earlier };
    });
  },
  'sync reads the provider again': (deps, process) => {
    if (process !== 'provider-syncs') return deps;
    const { inventory } = deps.store;
    const cache = new Map<string, ReturnType<typeof inventory.provider>>();
    const provider: typeof inventory.provider = (uuid) => {
      const cached = cache.get(uuid) ?? inventory.provider(uuid);
      cache.set(uuid, cached);
      return cached;
    };
    const providers: typeof inventory.providers = async (uuids) =>
      (await Promise.all(uuids.map(provider))).filter((each) => each !== undefined);
    return { ...deps, store: { ...deps.store, inventory: { ...inventory, provider, providers } } };
  },
};

/** The mark of an agent that takes every mdev for its own. */
const foreignMark: PreparedMark = {
  driver: 'sim_gpu',
  address: gpuAddress,
  type: 'MDEV',
  info: { asked_type: mdevType },
  epoch: 0,
  is_confirmed: true,
};

const weakenedCheckpoint: Partial<Record<OtherGuard, (checkpoint: Checkpoint) => Checkpoint>> = {
  'agent claims before it acts': (checkpoint) => ({ ...checkpoint, claim: async () => {} }),
  'agent records outcomes': (checkpoint) => ({ ...checkpoint, record: async () => {} }),
  'agent removes only its own mdevs': (checkpoint) => ({
    ...checkpoint,
    prepared: (uuid) => checkpoint.prepared(uuid) ?? foreignMark,
  }),
  'agent remembers released binds': (checkpoint) => ({ ...checkpoint, isReleased: () => false }),
};

/** Binds read deployables like this. */
function bindReading(deps: ConsumerDeps, edit: (deployable: Deployable) => Deployable) {
  const providerWith: typeof deps.store.inventory.providerWith = async (uuid, search) => {
    const stored = await deps.store.inventory.providerWith(uuid, search);
    return stored && { ...stored, deployable: edit(stored.deployable) };
  };
  const inventory = { ...deps.store.inventory, providerWith };
  return { ...deps, store: { ...deps.store, inventory } };
}

/** Each host is read as one that was never revoked. */
function withoutRevocations(deps: ConsumerDeps): ConsumerDeps {
  const { inventory } = deps.store;
  const host: typeof inventory.host = async (hostname) => {
    const read = await inventory.host(hostname);
    const { revokedAt: _, ...unmarked } = read.host;
    return { ...read, host: unmarked };
  };
  const hostAlone: typeof inventory.hostAlone = async (hostname) => {
    const { revokedAt: _, ...unmarked } = await inventory.hostAlone(hostname);
    return unmarked;
  };
  return { ...deps, store: { ...deps.store, inventory: { ...inventory, host, hostAlone } } };
}
