import * as z from 'zod';
import type { ListRow } from '#core/contracts/api/lists/lists.ts';
import type { Deps } from '#core/deps.ts';
import type { Arq } from '#core/domain/arq/arq.ts';
import type { Caller } from '#core/domain/caller.ts';
import type { ArqUuid, InstanceUuid, ProviderUuid } from '#core/domain/ids.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { ProviderPlace } from '#core/store/inventory/provider-places.ts';
import { shownStates } from '#functions/accelerator-requests/shown-states.ts';
import { isOperator } from '#functions/http/policy.ts';
import { type ListQuery, listAction } from '#functions/operator/list.ts';
import { fillPage, type Read } from '#functions/operator/page.ts';
import { viewAssignment } from '#functions/operator/view.ts';

type Filter = ListQuery<'assignments'>;

/** ARQs that one request reads at most; many of them may be bound to nothing. */
const readMax = 5000;

const paging = { marker: z.guid().toLowerCase() };

/** Which server has which accelerator, in the order of the ARQs' uuids. */
export const getAssignments = listAction('assignments', paging, async ({ deps, caller, query }) => {
  const { limit, marker } = query;
  const project = visibleProject(deps, caller, query.project);
  if (project === 'none') return { rows: [] };
  const filter = { ...query, project };
  const named = await arqsNamed(deps, filter, !isOperator(deps, caller));
  return fillPage({ limit, marker, readMax }, async (after, count) => {
    if (!named) return assignments(deps, await listed(deps, project, after, count), filter);
    const left = named.filter((each) => after === undefined || each > after);
    return assignments(deps, await byUuids(deps, left.slice(0, count)), filter);
  });
});

/** The project whose rows are shown; `none` for a tenant that asks for another one's. */
function visibleProject(
  deps: Deps,
  caller: Caller,
  requested: string | undefined,
): string | 'none' | undefined {
  if (isOperator(deps, caller)) return requested;
  return requested === undefined || requested === caller.projectId ? caller.projectId : 'none';
}

/**
 * The ARQs that the narrowest filter names, sorted; undefined where an index lists them. What a
 * tenant asks for is looked up among the tenant's own ARQs, so that the time of an answer says
 * nothing of the others.
 */
async function arqsNamed(
  deps: Deps,
  { arq, instance, device, host, project }: Filter,
  isTenant: boolean,
): Promise<readonly string[] | undefined> {
  if (arq) return [arq];
  if (instance) {
    const binding = await deps.store.arqs.binding(instance as InstanceUuid);
    const isShown = binding && (!isTenant || binding.projectId === project);
    return isShown ? [...binding.arqUuids].sort() : [];
  }
  if (isTenant) return undefined;
  const { inventory } = deps.store;
  if (device) {
    const stored = await deps.listings.deviceByUuid(device);
    return stored ? claimants(deps, stored.providers) : [];
  }
  if (!host) return undefined;
  const { devices } = await inventory.host(host);
  return claimants(
    deps,
    devices.flatMap(({ providers }) => providers),
  );
}

async function claimants(deps: Deps, uuids: readonly ProviderUuid[]): Promise<string[]> {
  const providers = await deps.store.inventory.providers(uuids);
  const handles = providers.flatMap((each) => each.handles);
  return handles.flatMap(({ claim }) => claim?.arqUuid ?? []).sort();
}

/** An ARQ that was deleted meanwhile is missing from its entry, so that the list goes on. */
interface Entry {
  readonly uuid: string;
  readonly arq: Arq | undefined;
}

async function byUuids(deps: Deps, uuids: readonly string[]): Promise<Entry[]> {
  const arqs = await deps.store.arqs.byUuids(uuids as ArqUuid[]);
  return uuids.map((uuid) => ({ uuid, arq: arqs.get(uuid as ArqUuid) }));
}

async function listed(
  deps: Deps,
  projectId: string | undefined,
  marker: string | undefined,
  count: number,
): Promise<Entry[]> {
  const page = { limit: count, sortKey: 'uuid', sortDir: 'asc', ...present({ marker }) } as const;
  const arqs = await deps.listings.arqs(page, present({ projectId }));
  return arqs.map((arq) => ({ uuid: arq.uuid, arq }));
}

async function assignments(
  deps: Deps,
  entries: readonly Entry[],
  filter: Filter,
): Promise<Read<ListRow<'assignments'>>[]> {
  const providers = entries.flatMap(({ arq }) => arq?.binding?.providerUuid ?? []);
  const places = await deps.store.inventory.placesOf(providers);
  const shown = entries.flatMap(({ arq }) => (arq && isShown(arq, places, filter) ? arq : []));
  const states = await shownStates(deps, shown);
  return entries.map(({ uuid: marker, arq }) => {
    const state = arq && states.get(arq.uuid);
    const place = arq?.binding && places.get(arq.binding.providerUuid);
    return { marker, row: state && viewAssignment({ ...arq, state }, place) };
  });
}

function isShown(
  { projectId, binding }: Arq,
  places: ReadonlyMap<ProviderUuid, ProviderPlace>,
  { project, host, instance, device }: Filter,
): boolean {
  return (
    binding?.attachment !== undefined &&
    (project === undefined || projectId === project) &&
    (host === undefined || binding.hostname === host) &&
    (instance === undefined || binding.instanceUuid === instance) &&
    (device === undefined || places.get(binding.providerUuid)?.device.uuid === device)
  );
}
