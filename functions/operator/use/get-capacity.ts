import * as z from 'zod';
import { capacityAnswer } from '#core/contracts/api/operator.ts';
import { profileRequest } from '#core/contracts/api/profile-request.ts';
import type { Deps } from '#core/deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import {
  type CapacityHost,
  type HostCapacity,
  measureCapacity,
} from '#core/domain/capacity/capacity.ts';
import { DeviceProfileNotFound, InvalidInput } from '#core/domain/errors.ts';
import { pausedUntil } from '#core/domain/host/host-pause.ts';
import { deriveHostState, stoppedBy } from '#core/domain/host/host-state.ts';
import { type Groups, groupLists } from '#core/domain/profile/alternatives.ts';
import { canonicalGroups } from '#core/domain/profile/device-profile.ts';
import { isVisibleTo } from '#core/domain/profile/profile-changes.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { findHost } from '#core/operations/hosts/find-host.ts';
import { findProfile } from '#core/operations/profiles/find-profile.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { present } from '#core/shapes/derive/present.ts';
import { MarkerNotFound } from '#core/store/table/marker-not-found.ts';
import { action, type Reply } from '#functions/http/action.ts';
import { validate } from '#functions/http/body.ts';
import { HttpFault } from '#functions/http/faults.ts';
import { pageReply } from '#functions/http/links.ts';
import { isOperator } from '#functions/http/policy.ts';
import { hostname, hostsAtOnce, limit } from '#functions/operator/page.ts';
import { viewCapacity } from '#functions/operator/view.ts';

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
const tenantPage = 200;
/** The gateway waits for 30 s. */
const tenantMs = 20_000;

/** How many more servers with a profile fit, where, and what stops the others. */
export const getCapacity = action(
  { query, answers: { 200: capacityAnswer }, refuses: [404] },
  async ({ deps, caller, query, base }): Promise<Reply> => {
    const profile = await readProfile(deps, caller, query);
    if (!isOperator(deps, caller)) {
      return { body: { profile: profile.name, availability: await availability(deps, profile) } };
    }
    const [groups = []] = profile.lists;
    if (query.host !== undefined) {
      const { host } = await findHost(deps, query.host);
      return { body: viewCapacity(profile.name, await capacities(deps, groups, [host.hostname])) };
    }
    const { marker } = query;
    if (marker !== undefined && !(await deps.store.inventory.hostSummary(marker))) {
      throw new MarkerNotFound(marker);
    }
    const summaries = await deps.listings.hostsAfter(marker, query.limit);
    const names = summaries.map((summary) => summary.hostname);
    const capacity = await capacities(deps, groups, names);
    const next = names.length === query.limit ? names.at(-1) : undefined;
    const { hosts, ...sums } = viewCapacity(profile.name, capacity);
    const at = { base, path: '/operator/v1/capacity', query };
    const page = pageReply('hosts', hosts, at, next);
    return { body: { ...sums, ...page } };
  },
);

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

/** In the order of the names, without hosts that lack the requested classes. */
async function capacities(
  deps: Deps,
  groups: Groups,
  hostnames: readonly string[],
): Promise<HostCapacity[]> {
  const byHost = new Map<string, HostCapacity | undefined>();
  await forEachAtOnce(hostnames, hostsAtOnce, async (name) => {
    byHost.set(
      name,
      measureCapacity(groups, await readHost(deps, name), deps.settings.attachTypes),
    );
  });
  return hostnames.flatMap((name) => byHost.get(name) ?? []);
}

async function readHost(deps: Deps, name: string): Promise<CapacityHost> {
  const { inventory } = deps.store;
  const { host, devices, summary } = await inventory.host(name);
  const reported = devices.filter(({ isGone }) => !isGone);
  const nowMs = deps.clock();
  const { state } = deriveHostState(host, summary ?? {}, nowMs);
  return {
    hostname: name,
    providers: await inventory.providers(reported.flatMap(({ providers }) => providers)),
    isPaused: pausedUntil(host, nowMs) !== undefined,
    ...present({ stoppedBy: stoppedBy(state) }),
  };
}

/** The answer for a tenant names no host and no number. */
async function availability(
  deps: Deps,
  profile: RequestedProfile,
): Promise<'none' | 'few' | 'many'> {
  const startedMs = deps.clock();
  const fits = profile.lists.map(() => 0);
  let after: string | undefined;
  for (;;) {
    const summaries = await deps.listings.hostsAfter(after, tenantPage);
    const names = summaries.map((summary) => summary.hostname);
    for (const [index, groups] of profile.lists.entries()) {
      const some = await capacities(deps, groups, names);
      fits[index] = some.reduce((sum, each) => sum + each.fits, fits[index] ?? 0);
    }
    const best = Math.max(...fits);
    if (best >= manyServers) return 'many';
    if (names.length < tenantPage) return best > 0 ? 'few' : 'none';
    if (deps.clock() - startedMs > tenantMs) {
      throw new HttpFault(503, 'There are too many hosts to look at in one request.');
    }
    after = names.at(-1);
  }
}
