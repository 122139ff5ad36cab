// Measures the fleet for the metrics: each minute the states of all hosts and the binds since the
// minute before, and the devices of some hosts. A round over all hosts takes an hour at most; a
// scrape reads the last one that is complete. What is measured of a host corrects its marks, too,
// and is kept for the capacity and the usage of the cloud.

import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { CapacityHost } from '#core/domain/capacity/capacity.ts';
import { toCapacityHost } from '#core/domain/capacity/capacity-host.ts';
import { handleUses } from '#core/domain/capacity/handle-uses.ts';
import { lastName } from '#core/domain/capacity/measured-hosts.ts';
import { type MeasureContext, measureHost, roundKinds } from '#core/domain/fleet/measure-host.ts';
import { measureBinds, measureHosts, needsHostRow } from '#core/domain/fleet/measure-minute.ts';
import type { OpenMetric } from '#core/domain/fleet/open-metrics.ts';
import { addRound } from '#core/domain/fleet/report.ts';
import { boundSeries, sumSamples, toSample } from '#core/domain/fleet/samples.ts';
import { countOutcomes } from '#core/domain/history/bind-counts.ts';
import { deriveHostState, type HostState, shownStates } from '#core/domain/host/host-state.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import { workDueMs } from '#core/domain/host-work/deadlines.ts';
import { claimsOf, type HostClaims } from '#core/domain/quota/lasting-claims.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { waitingInstances } from '#core/operations/release/reap/reap-waiting.ts';
import type { Sample } from '#core/shapes/fleet.ts';
import type { FleetMeasurement } from '#core/store/fleet.ts';
import { readFailed, readOfDay } from '#core/store/history/bind-counts.ts';
import type { StoredMark } from '#core/store/hosts/incident-marks.ts';
import { timeNow } from '../time-now.ts';
import { dropMarksOfDeleted, keepDeviceMarks, keepHostMarks, noteMarkRound } from './keep-marks.ts';

/** Hosts that one run measures at least; of more than this times 60, a sixtieth. */
const hostsPerRun = 20;
const runsPerRound = 60;
/** The sweep has a minute for all of its parts. */
const beginsWithinMs = 15_000;
const hostsAtOnce = 8;
/** A list of profiles that is longer is cut. */
const profilesMax = 200;
/** Records follow from the streams within some twelve seconds. */
const recordedWithinMs = 60_000;
const rangeMsMax = 3_600_000;
const dayMs = 86_400_000;

export async function measureFleet(
  deps: ConsumerDeps,
  hosts: readonly HostSummary[],
): Promise<void> {
  const startedMs = deps.clock();
  const states = await measureMinute(deps, hosts);
  await keepHostMarks(deps, hosts);
  const complete = await measureRound(deps, hosts, startedMs + beginsWithinMs);
  if (complete) publish(deps, [...states, ...complete]);
}

/** What a silent host is to CloudWatch, whose alarms know no further state. */
const silentCount: Readonly<Partial<Record<HostState, number>>> = { online: -1, away: 1 };

/** Has CloudWatch count what alarms watch. A sweep that dies before this leaves the round out. */
function publish({ metrics }: ConsumerDeps, samples: readonly Sample[]): void {
  const sumOf = (metric: OpenMetric, last?: string) =>
    samples
      .filter((each) => each.metric === metric && each.labels.at(-1) === last)
      .reduce((sum, each) => sum + each.value, 0);
  const silent = sumOf('cyborg_hosts_silent');
  const handles = handleUses.map((use) => {
    return { name: 'Handles', dimension: use, value: sumOf('cyborg_handles', use) } as const;
  });
  const hosts = shownStates.map((state) => {
    const count = sumOf('cyborg_hosts', state);
    const value = count + (silentCount[state] ?? 0) * silent;
    return { name: 'Hosts', dimension: state, value } as const;
  });
  metrics.put([...handles, ...hosts]);
}

/** @returns the samples of the hosts' states */
async function measureMinute(
  deps: ConsumerDeps,
  hosts: readonly HostSummary[],
): Promise<readonly Sample[]> {
  const { fleet } = deps.store;
  const before = await fleet.read('minute');
  const waiting = await waitingInstances(deps);
  const { until, samples } = await countBinds(deps, before);
  const states = measureHosts(hosts, await readStates(deps, hosts));
  await fleet.write('minute', {
    revision: (before?.revision ?? 0) + 1,
    at: until,
    samples: [
      ...samples,
      ...states,
      toSample('cyborg_incidents', ['reaper-waits'], waiting.length),
      toSample('cyborg_hosts_measured_timestamp_seconds', [], Math.floor(deps.clock() / 1000)),
    ],
  });
  return states;
}

/** Adds the binds that have resolved since; all of a range that is within a day and an hour. */
async function countBinds(deps: ConsumerDeps, before: FleetMeasurement | undefined) {
  const settledMs = workDueMs('bind', deps.settings) + recordedWithinMs;
  const settled = timeNow(deps, -settledMs);
  const from = before?.at ?? settled;
  const fromMs = Date.parse(from);
  const midnightMs = (Math.floor(fromMs / dayMs) + 1) * dayMs;
  const toMs = Math.min(Date.parse(settled), fromMs + rangeMsMax, midnightMs);
  const counters = (before?.samples ?? []).filter(({ metric }) => metric.startsWith('cyborg_bind'));
  if (toMs <= fromMs) {
    return {
      until: from,
      samples: sumSamples(measureBinds({ bound: 0, failed: 0 }, []), counters),
    };
  }
  const range = { from, to: new Date(toMs).toISOString() };
  const [claims, prepared, failures] = await Promise.all([
    readOfDay(deps.history, 'handle.claimed', range),
    readOfDay(deps.history, 'bind.bound', range),
    readFailed(deps.history, range, settledMs),
  ]);
  const counted = measureBinds(countOutcomes(range, claims, failures), prepared);
  return { until: range.to, samples: sumSamples(counted, counters) };
}

const never = { state: 'never-reported' } as const;

async function readStates(
  deps: ConsumerDeps,
  hosts: readonly HostSummary[],
): Promise<Map<string, HostState>> {
  const unsure = hosts.filter(needsHostRow);
  const rows = await deps.store.inventory.hostsAlone(unsure.map(({ hostname }) => hostname));
  return new Map(
    unsure.map((summary) => {
      const host = rows.get(summary.hostname);
      const { state } = host ? deriveHostState(host, summary, deps.clock()) : never;
      return [summary.hostname, state];
    }),
  );
}

/** @returns the samples of a round that is complete */
async function measureRound(
  deps: ConsumerDeps,
  hosts: readonly HostSummary[],
  untilMs: number,
): Promise<readonly Sample[] | undefined> {
  const { fleet } = deps.store;
  const before = await fleet.read('round');
  const marks = await deps.store.incidentMarks.marks('device');
  await dropMarksOfDeleted(deps, marks, hosts);
  const context = await readContext(deps);
  const round = before?.cursor === undefined ? startRound(deps, context) : before;
  const { at, cursor = '' } = round;
  const left = hosts.filter(({ hostname }) => hostname > cursor);
  const count = Math.max(hostsPerRun, Math.ceil(hosts.length / runsPerRound));
  const measuredAt = timeNow(deps);
  const next = await measureSome(
    deps,
    left.slice(0, count),
    { ...withProfilesOf(context, round), marks },
    untilMs,
  );
  const samples = boundSeries(sumSamples(round.samples, next.samples));
  const revision = (before?.revision ?? 0) + 1;
  const isComplete = next.hosts.length === left.length;
  const last = next.hosts.at(-1)?.hostname ?? cursor;
  const upTo = isComplete ? lastName : last;
  const range = { after: cursor, upTo, at: measuredAt };
  await deps.store.measuredHosts.put({ ...range, hosts: next.hosts });
  await deps.store.measuredClaims.put({ ...range, hosts: next.claims });
  const isStored = await fleet.write(
    'round',
    isComplete ? { revision, at, samples: [] } : { revision, at, samples, cursor: last },
  );
  if (!isStored || !isComplete) return undefined;
  await fleet.write('complete', { revision, at, samples });
  await noteMarkRound(deps, at);
  await addToReport(deps, samples);
  return samples;
}

/** Adds the round to the report of its day. A sweep that dies before this leaves the round out. */
async function addToReport(deps: ConsumerDeps, samples: readonly Sample[]): Promise<void> {
  const endMs = deps.clock() + deps.settings.historyDays * dayMs;
  const expiresAt = Math.floor(endMs / 1000);
  const day = timeNow(deps).slice(0, 10);
  await deps.store.fleet.addToDay(day, (sums) => addRound(sums, samples), expiresAt);
}

async function readContext(deps: ConsumerDeps): Promise<MeasureContext> {
  const page = { limit: profilesMax, sortKey: 'uuid', sortDir: 'asc' } as const;
  return {
    profiles: await deps.listings.profiles(page),
    baselines: await deps.store.baselines.baselines(),
    attachTypes: deps.settings.attachTypes,
    nowMs: deps.clock(),
  };
}

interface RoundContext extends MeasureContext {
  /** Marks of all devices, read before the hosts that are measured. */
  readonly marks: readonly StoredMark[];
}

type Round = Pick<FleetMeasurement, 'at' | 'samples' | 'cursor'>;

/** A metric that is zero is shown: an alert cannot tell an absent one from a fault. */
function startRound(deps: ConsumerDeps, { profiles }: MeasureContext): Round {
  return {
    at: timeNow(deps),
    samples: [
      toSample('cyborg_fleet_measured_timestamp_seconds', [], Math.floor(deps.clock() / 1000)),
      toSample('cyborg_hosts_drained', [], 0),
      toSample('cyborg_hosts_silent', [], 0),
      ...roundKinds.map((kind) => toSample('cyborg_incidents', [kind], 0)),
      ...profiles.map(({ name }) => toSample('cyborg_capacity_servers', [name], 0)),
    ],
  };
}

/** A profile that was created during the round has not been measured on all hosts. */
function withProfilesOf(context: MeasureContext, { samples }: Round): MeasureContext {
  const names = new Set(
    samples.flatMap(({ metric, labels: [name] }) =>
      metric === 'cyborg_capacity_servers' && name !== undefined ? [name] : [],
    ),
  );
  return { ...context, profiles: context.profiles.filter(({ name }) => names.has(name)) };
}

/** Measures hosts in their order until the time is over; the first ones at least. */
async function measureSome(
  deps: ConsumerDeps,
  hosts: readonly HostSummary[],
  context: RoundContext,
  untilMs: number,
): Promise<MeasuredHosts> {
  let samples: Sample[] = [];
  const measured: CapacityHost[] = [];
  const claims: HostClaims[] = [];
  while (measured.length < hosts.length && (measured.length === 0 || deps.clock() < untilMs)) {
    const some = hosts.slice(measured.length, measured.length + hostsAtOnce);
    const each = new Map<string, MeasuredHost>();
    await forEachAtOnce(some, hostsAtOnce, async ({ hostname }) => {
      const one = await measureOne(deps, hostname, context);
      samples = sumSamples(samples, one.samples);
      each.set(hostname, one);
    });
    for (const one of some.flatMap(({ hostname }) => each.get(hostname) ?? [])) {
      measured.push(one.host);
      claims.push({ hostname: one.host.hostname, claims: one.claims });
    }
  }
  return { samples, hosts: measured, claims };
}

interface MeasuredHosts {
  readonly samples: Sample[];
  /** In the order of their names. */
  readonly hosts: readonly CapacityHost[];
  readonly claims: readonly HostClaims[];
}

interface MeasuredHost {
  readonly samples: Sample[];
  readonly host: CapacityHost;
  readonly claims: HostClaims['claims'];
}

export async function measureOne(
  deps: ConsumerDeps,
  hostname: string,
  context: RoundContext,
): Promise<MeasuredHost> {
  const { inventory } = deps.store;
  const host = await inventory.host(hostname);
  const providers = await inventory.providers(host.devices.flatMap((each) => each.providers));
  await keepDeviceMarks(deps, hostname, context.marks, host.devices, ({ uuid }) =>
    providers
      .filter(({ deployable }) => deployable.deviceUuid === uuid)
      .flatMap(({ handles }) => handles),
  );
  return {
    samples: measureHost(host, providers, context),
    host: toCapacityHost(host, providers, context.nowMs),
    claims: claimsOf(providers),
  };
}
