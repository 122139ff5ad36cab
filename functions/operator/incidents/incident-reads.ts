// The stored rows behind each kind of incident, in the order of their markers. Binds and host work
// come from the index of deadlines, failed binds whose ARQs are deleted from the history, hosts
// from their summaries, and devices from their rows; of both, those that are marked.

import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { Deps } from '#core/deps.ts';
import { allNotOffered } from '#core/domain/arq/attach-types.ts';
import {
  awayIncident,
  conflictIncident,
  type Incident,
  type IncidentKind,
  lostProvidersIncident,
  notOfferedIncident,
  overdueIncident,
  type StoredKind,
  skewIncident,
} from '#core/domain/history/incidents.ts';
import {
  bindingIncident,
  failedBindIncident,
  pausedIncident,
  waitingIncident,
  workIncident,
} from '#core/domain/history/work-incidents.ts';
import { deriveHostState } from '#core/domain/host/host-state.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import { failedBindKeptMs, workDueMs } from '#core/domain/host-work/deadlines.ts';
import type { AwaitedWork } from '#core/domain/host-work/host-work.ts';
import type { InstanceUuid } from '#core/domain/ids.ts';
import { waitingInstances } from '#core/operations/release/reap/reap-waiting.ts';
import type { Read } from '#functions/operator/page.ts';
import {
  deviceReads,
  type Entries,
  type ReadIncidents,
  readHosts,
  readImported,
} from './device-reads.ts';

/** After every deadline: the index gives what is due next first. */
const endOfTime = '9999';
/** A driver may say that it cleans for longer; a release has its own time then. */
const secondMs = 1000;
/** Failed binds of half an hour that are read; a cloud with more has one cause for most. */
const failuresMax = 1000;

export const readIncidents: Readonly<Record<StoredKind, ReadIncidents>> = {
  'failed-bind': readFailures,
  'stuck-job': async (deps, after, count) => {
    const all = await Promise.all([
      readBindings(deps, 'stuck-job', after, count),
      readWork(deps, 'stuck-job', after, count),
    ]);
    return sorted(all.flat()).slice(0, count);
  },
  quarantine: async (deps, after, count) => {
    const all = await Promise.all([
      readWork(deps, 'quarantine', after, count),
      readImported(deps, after, count),
    ]);
    return sorted(all.flat()).slice(0, count);
  },
  'cleanings-paused': readPaused,
  conflict: (deps, after, count) =>
    readHosts(deps, after, count, async ({ hostname, conflictSince }) =>
      conflictSince ? conflictIncident(hostname, conflictSince) : undefined,
    ),
  'host-away': (deps, after, count) => readHosts(deps, after, count, (host) => away(deps, host)),
  'maintenance-overdue': readOverdueDrains,
  'clock-skew': (deps, after, count) =>
    readHosts(deps, after, count, async ({ hostname, clockAheadSeconds }) =>
      skewIncident(hostname, clockAheadSeconds),
    ),
  'not-offered': (deps, after, count) =>
    readHosts(deps, after, count, async ({ hostname, notOffered }) => {
      if (notOffered === 0) return undefined;
      const inventory = await deps.store.inventory.host(hostname);
      return notOfferedIncident(hostname, allNotOffered(inventory, deps.settings.attachTypes));
    }),
  'lost-providers': (deps, after, count) =>
    readHosts(deps, after, count, async (host) => lostProvidersIncident(host)),
  ...deviceReads,
  'reaper-waits': readReaper,
};

/** Those that wait for an operator, by their uuids. */
async function readReaper(
  deps: ConsumerDeps,
  after: string | undefined,
  count: number,
): Promise<Entries> {
  const waiting = await waitingInstances(deps);
  const byUuid = new Map(waiting.map((each) => [each.instanceUuid as string, each]));
  return takePage([...byUuid.keys()], after, count).map((marker) => {
    const each = byUuid.get(marker);
    return { marker, row: each && waitingIncident(each) };
  });
}

/** Failure domains whose hosts were asked again within the last hours. */
async function readPaused(
  { store, clock }: ConsumerDeps,
  after: string | undefined,
  count: number,
): Promise<Entries> {
  const groups = await store.cleaningGroups.groups();
  const byDomain = new Map(groups.map((group) => [group.failureDomain, group]));
  return takePage([...byDomain.keys()], after, count).map((marker) => {
    const group = byDomain.get(marker);
    return { marker, row: group && pausedIncident(group, clock()) };
  });
}

/** From the index of what has an end, the thousand devices whose end is the longest ago. */
async function readOverdueDrains(
  { listings, store, clock }: ConsumerDeps,
  after: string | undefined,
  count: number,
): Promise<Entries> {
  const places = await listings.overdueDrains(new Date(clock()).toISOString());
  const page = takePage([...new Set(places.map(({ hostname }) => hostname))], after, count);
  const hosts = await store.inventory.hostsAlone(page);
  return page.map((marker) => {
    const drain = hosts.get(marker)?.drain;
    return { marker, row: drain && overdueIncident(marker, drain, clock()) };
  });
}

function sorted(entries: Entries): Read<Incident>[] {
  return [...entries].sort((one, other) => (one.marker < other.marker ? -1 : 1));
}

function takePage(uuids: readonly string[], after: string | undefined, count: number): string[] {
  const left = uuids.filter((uuid) => after === undefined || uuid > after);
  return left.sort().slice(0, count);
}

async function readBindings(
  deps: Deps,
  kind: IncidentKind,
  after: string | undefined,
  count: number,
): Promise<Entries> {
  const { uuids } = await deps.listings.overdue('binding', endOfTime);
  const pageUuids = takePage(uuids, after, count);
  const bindings = await deps.store.arqs.bindings(pageUuids as InstanceUuid[]);
  const dueMs = workDueMs('bind', deps.settings);
  return pageUuids.map((uuid) => {
    const binding = bindings.get(uuid as InstanceUuid);
    const incident = binding && bindingIncident(binding, dueMs, deps.clock());
    return { marker: uuid, row: incident?.kind === kind ? incident : undefined };
  });
}

/** Each instance once: by its binding while it has one, else by its last record. */
async function readFailures(
  deps: ConsumerDeps,
  after: string | undefined,
  count: number,
): Promise<Entries> {
  const from = new Date(deps.clock() - failedBindKeptMs).toISOString();
  const [bound, { records }] = await Promise.all([
    readBindings(deps, 'failed-bind', after, count),
    deps.history.read(
      { subject: 'kind', key: 'bind.failed' },
      { from, limit: failuresMax, order: 'newest-first', filter: {} },
    ),
  ]);
  const newest = new Map(records.toReversed().map((record) => [record.instanceUuid, record]));
  const uuids = takePage(
    [...newest.keys()].flatMap((uuid) => uuid ?? []),
    after,
    count,
  );
  // A server that another host took, or that failed again, has a binding.
  const bindings = await deps.store.arqs.bindings(uuids as InstanceUuid[]);
  const ended = uuids.map((uuid) => {
    const record = newest.get(uuid);
    const isEnded = record && !bindings.has(uuid as InstanceUuid);
    return { marker: uuid, row: isEnded ? failedBindIncident(record) : undefined };
  });
  const byUuid = new Map([...ended, ...bound].map((each) => [each.marker, each]));
  return sorted([...byUuid.values()]).slice(0, count);
}

async function readWork(
  deps: Deps,
  kind: IncidentKind,
  after: string | undefined,
  count: number,
): Promise<Entries> {
  const { uuids } = await deps.listings.overdue('awaited', endOfTime);
  const pageUuids = takePage(uuids, after, count);
  const work = await deps.store.releases.awaitedOf(pageUuids);
  const providers = work
    .flatMap(({ handles }) => handles.slice(0, 1))
    .map((each) => each.providerUuid);
  const places = await deps.store.inventory.placesOf(providers);
  const incidents = new Map(
    work.map((each) => {
      const [handle] = each.handles;
      const device = handle && places.get(handle.providerUuid)?.device.uuid;
      return [each.id as string, workIncident(each, device, dueMs(deps, each), deps.clock())];
    }),
  );
  return pageUuids.map((uuid) => {
    const incident = incidents.get(uuid);
    return { marker: uuid, row: incident?.kind === kind ? incident : undefined };
  });
}

function dueMs({ settings }: Deps, work: AwaitedWork): number {
  const { cleanSeconds = 0 } = work.kind === 'release' ? work : {};
  return Math.max(workDueMs(work.kind, settings), cleanSeconds * secondMs);
}

async function away(deps: Deps, summary: HostSummary): Promise<Incident | undefined> {
  // An agent whose connection stands is not away; the others need the time of the last report.
  if (summary.presence?.isConnected || summary.bootId === undefined) return undefined;
  const hosts = await deps.store.inventory.hostsAlone([summary.hostname]);
  const host = hosts.get(summary.hostname);
  if (!host) return undefined;
  const { state, since } = deriveHostState(host, summary, deps.clock());
  return state === 'away' ? awayIncident(summary.hostname, since) : undefined;
}
