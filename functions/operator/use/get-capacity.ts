import * as z from 'zod';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { capacityAnswer } from '#core/contracts/api/operator/use.ts';
import { profileRequest } from '#core/contracts/api/profile-request.ts';
import type { Deps } from '#core/deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import { type CapacityHost, capacityMeter } from '#core/domain/capacity/capacity.ts';
import { toCapacityHost } from '#core/domain/capacity/capacity-host.ts';
import { joinRanges, type MeasuredCloud } from '#core/domain/capacity/measured-hosts.ts';
import { missingNames } from '#core/domain/capacity/missing-names.ts';
import { DeviceProfileNotFound, Forbidden, InvalidInput } from '#core/domain/errors.ts';
import { type Groups, groupLists } from '#core/domain/profile/alternatives.ts';
import { canonicalGroups } from '#core/domain/profile/device-profile.ts';
import { isVisibleTo } from '#core/domain/profile/profile-changes.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { findHost } from '#core/operations/hosts/find-host.ts';
import { findProfile } from '#core/operations/profiles/find-profile.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import { MarkerNotFound } from '#core/store/table/marker-not-found.ts';
import { action, type Reply } from '#functions/http/action.ts';
import { HttpFault } from '#functions/http/faults.ts';
import { pageReply } from '#functions/http/links.ts';
import { isOperator } from '#functions/http/policy.ts';
import { validate } from '#functions/http/request/body.ts';
import { hostname, hostsAtOnce, limit } from '#functions/operator/page.ts';
import { viewFits, viewHostCapacity, viewTotal } from '#functions/operator/view.ts';

/** The address of a request is at most 8 KB long. */
const groupsTextMax = 6000;

const query = z
  .strictObject({
    profile: z.string().min(1).max(255).optional(),
    groups: z.string().max(groupsTextMax).optional().meta({
      description: 'JSON text: the groups of a device profile that need not exist',
    }),
    alternative: z.coerce.number().int().min(0).max(31).optional().meta({
      description: 'of the profile: 0 for its first groups, which is the default',
    }),
    host: hostname.optional(),
    live: z.enum(['true', 'false']).optional().meta({
      description: 'whether the hosts of the page are read now, in a large cloud, too',
    }),
    limit,
    marker: hostname.optional(),
  })
  .refine(
    ({ profile, groups }) => (profile === undefined) !== (groups === undefined),
    'either profile or groups must be given',
  );
type CapacityQuery = z.infer<typeof query>;

interface RequestedProfile {
  /** A server gets one of them. */
  readonly lists: readonly Groups[];
  /** Null for groups of no stored profile. */
  readonly name: string | null;
}

/** At this many servers, the availability for a tenant is `many`. */
const manyServers = 10;
/** What a call of a tenant may read of a cloud that is not measured yet. */
const tenantBudget = { hosts: 200, providers: 2000, ms: 2000 } as const;
/** The sweep measures each minute. */
const measuredSoon = { 'Retry-After': '60' } as const;

/** A cloud of at most as many hosts is read for each answer. */
const hostsReadMax = 20;

/** How many more servers with a profile fit, where, and what stops the others. */
export const getCapacity = action<CapacityQuery, undefined, ConsumerDeps>(
  { query, answers: { 200: capacityAnswer }, refuses: [404] },
  async ({ deps, caller, query, base }): Promise<Reply> => {
    const profile = await readProfile(deps, caller, query);
    const isForOperator = isOperator(deps, caller);
    const isLive = query.live === 'true' || query.host !== undefined;
    if (isLive && !isForOperator) {
      throw new Forbidden('The parameters live and host read hosts: they are for operators.');
    }
    const measured = isLive
      ? undefined
      : await readMeasured(deps, isForOperator ? hostsReadMax : 0);
    const answer = { profile: profile.name, measured_at: measured?.at ?? null };
    if (!isForOperator) {
      return { body: { ...answer, availability: await availability(deps, profile, measured) } };
    }
    const groups = profile.lists[0] ?? [];
    const page = await (measured ? pageOfMeasured(measured, query) : readPage(deps, query));
    const meter = capacityMeter(groups, deps.settings.attachTypes);
    const measure = (some: readonly CapacityHost[]) => some.flatMap((host) => meter(host) ?? []);
    const fitting = measure(page.hosts);
    const missing = page.all ? missingNames(groups, page.all) : [];
    const at = { base, path: '/operator/v1/capacity', query };
    const hosts = pageReply('hosts', fitting.map(viewHostCapacity), at, page.next);
    const total = page.all ? viewTotal(measure(page.all)) : null;
    const named = { ...answer, total, ...(missing.length > 0 && { missing }) };
    return { body: { ...named, ...viewFits(fitting), ...hosts } };
  },
);

interface CapacityPage {
  readonly hosts: readonly CapacityHost[];
  readonly next: string | undefined;
  /** Those of the whole cloud, where the page begins with the first host. */
  readonly all?: readonly CapacityHost[];
}

/** Undefined for a cloud of `hostsMax` hosts or fewer, and while not all hosts are measured. */
async function readMeasured(
  { store, clock }: ConsumerDeps,
  hostsMax = hostsReadMax,
): Promise<MeasuredCloud | undefined> {
  const measured = joinRanges(await store.measuredHosts.ranges(), clock());
  return measured && measured.hosts.length > hostsMax ? measured : undefined;
}

function pageOfMeasured(
  { hosts }: MeasuredCloud,
  { marker = '', limit }: CapacityQuery,
): CapacityPage {
  const left = hosts.filter((host) => host.hostname > marker);
  const page = left.slice(0, limit);
  return {
    hosts: page,
    next: left.length > limit ? page.at(-1)?.hostname : undefined,
    ...(marker === '' && { all: hosts }),
  };
}

/** @throws MarkerNotFound */
async function readPage(
  deps: Deps,
  { host: name, marker, limit }: CapacityQuery,
): Promise<CapacityPage> {
  if (name !== undefined) {
    const { host } = await findHost(deps, name);
    return { hosts: [await readHost(deps, host.hostname)], next: undefined };
  }
  if (marker !== undefined && !(await deps.store.inventory.hostSummary(marker))) {
    throw new MarkerNotFound(marker);
  }
  const summaries = await deps.listings.hostsAfter(marker, limit);
  const names = summaries.map((summary) => summary.hostname);
  const hosts = await readHosts(deps, names);
  const next = names.length === limit ? names.at(-1) : undefined;
  const isAll = marker === undefined && next === undefined;
  return { hosts, next, ...(isAll && { all: hosts }) };
}

/** @throws DeviceProfileNotFound, InvalidInput */
async function readProfile(
  deps: Deps,
  caller: Caller,
  query: CapacityQuery,
): Promise<RequestedProfile> {
  const profile = await findRequested(deps, caller, query);
  const lists = groupLists(profile);
  const { alternative } = query;
  // A tenant's server gets any of them.
  if (alternative === undefined && !isOperator(deps, caller)) return { ...profile, lists };
  const groups = lists[alternative ?? 0];
  if (groups) return { ...profile, lists: [groups] };
  throw new InvalidInput(`alternative: there are ${lists.length}, from 0 to ${lists.length - 1}.`);
}

/** @throws DeviceProfileNotFound, InvalidInput */
async function findRequested(
  deps: Deps,
  caller: Caller,
  { profile: id = '', groups: text }: CapacityQuery,
): Promise<Pick<RequestedProfile, 'name'> & Parameters<typeof groupLists>[0]> {
  if (text === undefined) {
    const profile = await findProfile(deps, id);
    if (profile && isVisibleTo(caller, profile, deps.settings.policy)) return profile;
    throw new DeviceProfileNotFound(id);
  }
  const parsed = parseJson(text);
  if (parsed === undefined) throw new InvalidInput('groups: not valid JSON.');
  const { groups } = validate(profileRequest.pick({ groups: true }), { groups: parsed });
  return { groups: canonicalGroups(groups), name: null };
}

/** In the order of the names. */
async function readHosts(deps: Deps, hostnames: readonly string[]): Promise<CapacityHost[]> {
  const byHost = new Map<string, CapacityHost>();
  await forEachAtOnce(hostnames, hostsAtOnce, async (name) => {
    byHost.set(name, await readHost(deps, name));
  });
  return hostnames.flatMap((name) => byHost.get(name) ?? []);
}

async function readHost(deps: Deps, name: string) {
  return await readCapacityHost(deps, await deps.store.inventory.host(name));
}

async function readCapacityHost({ store: { inventory }, clock }: Deps, host: HostInventory) {
  const reported = host.devices.filter(({ isGone }) => !isGone);
  const providers = await inventory.providers(reported.flatMap((device) => device.providers));
  return toCapacityHost(host, providers, clock());
}

/** The answer for a tenant names no host and no number. */
async function availability(
  deps: Deps,
  profile: RequestedProfile,
  measured: MeasuredCloud | undefined,
): Promise<'none' | 'few' | 'many'> {
  const meters = profile.lists.map((groups) => capacityMeter(groups, deps.settings.attachTypes));
  const fits = meters.map(() => 0);
  const parts = measured ? [measured.hosts] : hostsInBudget(deps);
  for await (const some of parts) {
    for (const [index, meter] of meters.entries()) {
      for (const host of some) fits[index] = (fits[index] ?? 0) + (meter(host)?.fits ?? 0);
    }
    if (Math.max(...fits) >= manyServers) return 'many';
  }
  return Math.max(...fits) > 0 ? 'few' : 'none';
}

/** Hosts one after the other. @throws HttpFault beyond what a call of a tenant may read */
export async function* hostsInBudget(deps: Deps): AsyncGenerator<readonly CapacityHost[]> {
  const startedMs = deps.clock();
  const summaries = await deps.listings.hostsAfter(undefined, tenantBudget.hosts + 1);
  const left = { hosts: tenantBudget.hosts, providers: tenantBudget.providers };
  for (const { hostname } of summaries) {
    const host = await deps.store.inventory.host(hostname);
    left.hosts -= 1;
    left.providers -= host.devices.reduce((sum, device) => sum + device.providers.length, 0);
    const isLate = deps.clock() - startedMs > tenantBudget.ms;
    if (left.hosts < 0 || left.providers < 0 || isLate) {
      throw new HttpFault(503, 'The capacity of this cloud is not measured yet.', measuredSoon);
    }
    yield [await readCapacityHost(deps, host)];
  }
}
