import { arqsAnswer } from '#core/contracts/api/accelerator-requests.ts';
import type { NovaDeps } from '#core/deps.ts';
import {
  type Arq,
  type InstanceBinding,
  isResolved,
  type ShownState,
} from '#core/domain/arq/arq.ts';
import { type Caller, isAdmin, mayActOnInstance } from '#core/domain/caller.ts';
import { BindFailedForInstance, BindsUnresolved, NotReadyOnHost } from '#core/domain/errors.ts';
import { novaAction, type Request } from '#functions/http/action.ts';
import { toPage, uuidPage } from '#functions/http/request/query.ts';
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
export const getAll = novaAction(
  { query: listQuery, answers: { 200: arqsAnswer }, refuses: [409, 423] },
  async ({ deps, caller, headers, query, base, about }) => {
    const { instance, bind_state: bindState, ...page } = query;
    if (instance !== undefined) {
      about({ instance });
      const waits = waitOf(deps, caller, headers, bindState);
      const arqs = await listOfInstance(deps, caller, instance.toLowerCase(), waits);
      checkResolution(instance, arqs, bindState, waits);
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

/** What the answer is held for, while it is under way. */
interface Waits {
  readonly forBind: boolean;
  /** A device that its host reprovisions, or may have to. */
  readonly forHost: boolean;
}

/**
 * nova-compute lists ARQs to start a server. Nova's other services list them for their uuids only,
 * as in a shelve: an error would leave the server in the middle of it.
 */
function waitOf(
  deps: NovaDeps,
  caller: Caller,
  headers: Request<unknown, unknown>['headers'],
  bindState: 'resolved' | undefined,
): Waits {
  const forBind = asksForOutcome(deps, caller, bindState);
  const isStart = headers['user-agent']?.startsWith('nova-compute') === true;
  return { forBind, forHost: forBind && (isStart || bindState === 'resolved') };
}

async function listOfInstance(
  deps: NovaDeps,
  caller: Caller,
  instance: string,
  waits: Waits,
): Promise<readonly Shown[]> {
  const untilMs = deps.clock() + deps.settings.resolveWaitSeconds * 1000;
  const first = await deps.store.arqs.binding(instance);
  if (!first || !mayActOnInstance(caller, first.projectId)) return [];
  const ended = waits.forBind ? await waitUntilResolved(deps, first, untilMs) : first;
  const read = async (): Promise<readonly Shown[]> => {
    const stored = await deps.store.arqs.binding(instance);
    return stored ? shownOf(deps, caller, stored) : [];
  };
  const listed = ended ? await shownOf(deps, caller, ended) : [];
  if (!waits.forHost) return listed;
  return readUntil(deps, untilMs, listed, (rows) => rows.some(isNotReady), read);
}

async function shownOf(
  deps: NovaDeps,
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

/** Its host reprovisions it, or may have to. */
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
  waits: Waits,
): void {
  if (bindState === 'resolved') {
    if (!arqs.every(({ state }) => isResolved(state))) throw new BindsUnresolved(instance);
    return;
  }
  const failed = arqs.find(({ arq }) => arq.state === 'BindFailed')?.arq;
  if (failed) throw new BindFailedForInstance(instance, failed.failure ?? 'no reason was recorded');
  const [late] = waits.forHost ? arqs.filter(isNotReady) : [];
  if (!late) return;
  const state = late.state === 'provisioning' ? 'provisioning' : 'unknown';
  throw new NotReadyOnHost(instance, state, late.arq.binding?.hostname ?? '');
}
