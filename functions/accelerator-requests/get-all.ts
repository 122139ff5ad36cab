import { arqsAnswer } from '#core/contracts/api/accelerator-requests.ts';
import type { Deps } from '#core/deps.ts';
import {
  type Arq,
  type InstanceBinding,
  isResolved,
  type ShownState,
} from '#core/domain/arq/arq.ts';
import { type Caller, isAdmin, mayActOnInstance } from '#core/domain/caller.ts';
import { BindFailedForInstance, BindsUnresolved } from '#core/domain/errors.ts';
import { action } from '#functions/http/action.ts';
import { toPage, uuidPage } from '#functions/http/query.ts';
import { listQuery } from './schema.ts';
import { shownStates } from './shown-states.ts';
import { viewArq } from './view.ts';
import { asksForOutcome, listedBinding, waitUntilResolved } from './wait-until-resolved.ts';

/** Nova asks by instance: that query reads base tables only. */
export const getAll = action(
  { query: listQuery, answers: { 200: arqsAnswer }, refuses: [409, 423] },
  async ({ deps, caller, query, base, about }) => {
    const { instance, bind_state: bindState, ...page } = query;
    if (instance !== undefined) {
      about({ instance });
      const binding = await visibleBinding(deps, caller, instance.toLowerCase(), bindState);
      const arqs = binding ? await readArqs(deps, binding) : [];
      const states = await shownStates(deps, arqs, binding);
      checkResolution(instance, arqs, states, bindState);
      return { body: { arqs: arqs.map((arq) => viewArq(arq, base, states.get(arq.uuid))) } };
    }
    const filter = isAdmin(caller) ? {} : { projectId: caller.projectId };
    const arqs = await deps.listings.arqs(toPage(page), filter);
    const states = await shownStates(deps, arqs);
    const rows = arqs.map((arq) => viewArq(arq, base, states.get(arq.uuid)));
    const shown = bindState === 'resolved' ? rows.filter(({ state }) => isResolved(state)) : rows;
    return {
      body: uuidPage('arqs', shown, {
        base,
        path: '/accelerator_requests',
        query: { ...page, ...(bindState && { bind_state: bindState }) },
        read: arqs,
      }),
    };
  },
);

async function visibleBinding(
  deps: Deps,
  caller: Caller,
  instance: string,
  bindState: 'resolved' | undefined,
): Promise<InstanceBinding | undefined> {
  const first = await deps.store.arqs.binding(instance);
  if (!first || !mayActOnInstance(caller, first.projectId)) return undefined;
  const isWaiting = asksForOutcome(deps, caller, bindState);
  const ended = isWaiting ? await waitUntilResolved(deps, first) : first;
  const binding = ended && (await listedBinding(deps, ended));
  return binding && mayActOnInstance(caller, binding.projectId) ? binding : undefined;
}

async function readArqs(deps: Deps, { arqUuids }: InstanceBinding): Promise<Arq[]> {
  const arqs = await deps.store.arqs.byUuids(arqUuids);
  return arqUuids.flatMap((uuid) => arqs.get(uuid) ?? []);
}

/**
 * nova-compute treats an ARQ that is BindFailed in its first list as already resolved, and boots
 * the server without its device. It treats an error as a failed build.
 */
function checkResolution(
  instance: string,
  arqs: readonly Arq[],
  states: ReadonlyMap<string, ShownState>,
  bindState: 'resolved' | undefined,
): void {
  if (bindState === 'resolved') {
    if (![...states.values()].every(isResolved)) throw new BindsUnresolved(instance);
    return;
  }
  const failed = arqs.find((arq) => arq.state === 'BindFailed');
  if (failed) throw new BindFailedForInstance(instance, failed.failure ?? 'no reason was recorded');
}
