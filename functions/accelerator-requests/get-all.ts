import { arqsAnswer } from '#core/contracts/api/accelerator-requests.ts';
import type { Deps } from '#core/deps.ts';
import {
  type Arq,
  type InstanceBinding,
  isResolved,
  type ShownState,
} from '#core/domain/arq/arq.ts';
import { type Caller, isAdmin, mayActOnInstance } from '#core/domain/caller.ts';
import { BindFailedForInstance, BindsUnresolved, NotReadyOnHost } from '#core/domain/errors.ts';
import { action } from '#functions/http/action.ts';
import { toPage, uuidPage } from '#functions/http/query.ts';
import { listQuery } from './schema.ts';
import { shownStates } from './shown-states.ts';
import { viewArq } from './view.ts';
import {
  asksForOutcome,
  listedBinding,
  readUntil,
  waitUntilResolved,
} from './wait-until-resolved.ts';

/** Nova asks by instance: that query reads base tables only. */
export const getAll = action(
  { query: listQuery, answers: { 200: arqsAnswer }, refuses: [409, 423] },
  async ({ deps, caller, query, base, about }) => {
    const { instance, bind_state: bindState, ...page } = query;
    if (instance !== undefined) {
      about({ instance });
      const isWaiting = asksForOutcome(deps, caller, bindState);
      const arqs = await listOfInstance(deps, caller, instance.toLowerCase(), isWaiting);
      checkResolution(instance, arqs, bindState, isWaiting);
      return { body: { arqs: arqs.map(({ arq, state }) => viewArq(arq, base, state)) } };
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

interface Shown {
  readonly arq: Arq;
  readonly state: ShownState;
}

/** Where the caller waits, the answer is held while a bind or the host's reboot is under way. */
async function listOfInstance(
  deps: Deps,
  caller: Caller,
  instance: string,
  isWaiting: boolean,
): Promise<readonly Shown[]> {
  const untilMs = deps.clock() + deps.settings.resolveWaitSeconds * 1000;
  const first = await deps.store.arqs.binding(instance);
  if (!first || !mayActOnInstance(caller, first.projectId)) return [];
  const ended = isWaiting ? await waitUntilResolved(deps, first, untilMs) : first;
  const read = async (): Promise<readonly Shown[]> => {
    const stored = await deps.store.arqs.binding(instance);
    return stored ? shownOf(deps, caller, stored) : [];
  };
  const listed = ended ? await shownOf(deps, caller, ended) : [];
  return isWaiting
    ? readUntil(deps, untilMs, listed, (rows) => rows.some(isNotReady), read)
    : listed;
}

async function shownOf(
  deps: Deps,
  caller: Caller,
  read: InstanceBinding,
): Promise<readonly Shown[]> {
  const binding = await listedBinding(deps, read);
  if (!binding || !mayActOnInstance(caller, binding.projectId)) return [];
  const { arqUuids } = binding;
  const stored = await deps.store.arqs.byUuids(arqUuids);
  const arqs = arqUuids.flatMap((uuid) => stored.get(uuid) ?? []);
  const states = await shownStates(deps, arqs, binding);
  return arqs.map((arq) => ({ arq, state: states.get(arq.uuid) ?? arq.state }));
}

/** Its host has to make it again, or may have to. */
function isNotReady({ state }: Shown): boolean {
  return state === 'provisioning' || state === 'unknown';
}

/**
 * nova-compute takes any state in a list: it treats an ARQ that is BindFailed as already resolved,
 * and starts a server without a device that is not ready. It treats an error as a failed build, or
 * as a failed start.
 */
function checkResolution(
  instance: string,
  arqs: readonly Shown[],
  bindState: 'resolved' | undefined,
  isWaiting: boolean,
): void {
  if (bindState === 'resolved') {
    if (!arqs.every(({ state }) => isResolved(state))) throw new BindsUnresolved(instance);
    return;
  }
  const failed = arqs.find(({ arq }) => arq.state === 'BindFailed')?.arq;
  if (failed) throw new BindFailedForInstance(instance, failed.failure ?? 'no reason was recorded');
  const [late] = isWaiting ? arqs.filter(isNotReady) : [];
  if (!late) return;
  const state = late.state === 'provisioning' ? 'provisioning' : 'unknown';
  throw new NotReadyOnHost(instance, state, late.arq.binding?.hostname ?? '');
}
