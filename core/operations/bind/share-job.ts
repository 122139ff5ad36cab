// One job for several binds of a host. AWS creates ten jobs a second in an account: while it
// throttles, binds wait, and the first that gets through takes others of its host along. See
// docs/adr/0049-shared-jobs.md.

import type { ConsumerDeps } from '../../consumer-deps.ts';
import type { PrepareHandleStep, PrepareStep } from '../../contracts/job-document.ts';
import type { InstanceBinding } from '../../domain/arq.ts';
import type { WaitingBind } from '../../domain/host-work.ts';
import { derivedUuid } from '../../domain/ids.ts';
import { RetryLater } from '../../domain/retry-later.ts';
import type { HostInventory } from '../../store/hosts.ts';
import { askHost } from '../host-work/ask-host.ts';
import { prepareHostWork } from '../host-work/prepare-host-work.ts';

/** The job's answer has room for what the host chooses for so many handles. */
export const handlesMax = 6;
/** How many waiting binds are looked at. */
const candidatesMax = 12;
/** How long a bind leaves its work to a shared job, and how often it looks meanwhile. */
export const sharedSeconds = 30;
export const lookSeconds = 10;
/** After so many hours no event of the job's end is on its way any more. */
const noteKeptHours = 24;
const hourMs = 3_600_000;
/** A host with an agent of 0.1 gets a job for each bind, as from a cloud of 0.1. */
const formLeast = 2;

/** A bind with what its host has to do for it. */
export interface Share {
  readonly binding: InstanceBinding;
  readonly steps: readonly PrepareHandleStep[];
}

/** @throws RetryLater while a shared job has the bind */
export function leaveToSharedJob(deps: ConsumerDeps, own: WaitingBind | undefined): void {
  if (own && isShared(deps, own)) throw leftToShared();
}

function isShared(deps: ConsumerDeps, { sharedUntil }: WaitingBind): boolean {
  return sharedUntil !== undefined && Date.parse(sharedUntil) > deps.clock();
}

function leftToShared(): RetryLater {
  return new RetryLater('A job for several binds of the host has it.', lookSeconds);
}

/**
 * The bind's share in a job for several; undefined where it has a job of its own: where it
 * programs or checks a region, and after a shared job that did not make it ready.
 */
export function shareOf(
  { host, waiting }: HostInventory,
  binding: InstanceBinding,
  steps: readonly PrepareStep[],
): Share | undefined {
  const wasShared = waiting.some(
    ({ bindId, sharedUntil }) => bindId === binding.bindId && sharedUntil !== undefined,
  );
  const ofHandles = steps.filter((step) => 'handle' in step);
  const isShareable = ofHandles.length === steps.length && (host.form ?? 1) >= formLeast;
  return isShareable && !wasShared ? { binding, steps: ofHandles } : undefined;
}

/** Stores that the bind waits for a job. */
export async function waitForJob(
  deps: ConsumerDeps,
  { hostname, instanceUuid, bindId }: InstanceBinding,
): Promise<void> {
  const since = new Date(deps.clock()).toISOString();
  await deps.store.waitingBinds.add(hostname, { instanceUuid, bindId, since });
}

/** Shares of binds that wait for a job of the host, as many as fit beside the given one. */
export async function sharesBeside(
  deps: ConsumerDeps,
  own: Share,
  inventory: HostInventory,
  bootId: string,
): Promise<Share[]> {
  const { hostname, bindId: ownId } = own.binding;
  const others = inventory.waiting.filter(({ bindId }) => bindId !== ownId);
  const unshared = others.filter(({ sharedUntil }) => sharedUntil === undefined);
  const over = others.filter((each) => each.sharedUntil !== undefined && !isShared(deps, each));
  const candidates = [...unshared, ...over].slice(0, candidatesMax);
  if (candidates.length === 0) return [];
  const bindings = await deps.store.arqs.bindings(
    candidates.map(({ instanceUuid }) => instanceUuid),
  );
  const shares: Share[] = [];
  let left = handlesMax - own.steps.length;
  for (const { instanceUuid, bindId } of candidates) {
    const binding = bindings.get(instanceUuid);
    if (binding?.bindId !== bindId || binding.state !== 'BindStarted') {
      await deps.store.waitingBinds.forget(hostname, [bindId]);
      continue;
    }
    const share = left > 0 ? await shareBeside(deps, binding, inventory, bootId) : undefined;
    if (!share || share.steps.length > left) continue;
    shares.push(share);
    left -= share.steps.length;
  }
  return shares;
}

/** Undefined where the bind cannot be made ready now; its own message says why. */
async function shareBeside(
  deps: ConsumerDeps,
  binding: InstanceBinding,
  inventory: HostInventory,
  bootId: string,
): Promise<Share | undefined> {
  try {
    // A bind that began before the boot starts again, with another id.
    const note = await deps.store.arqs.jobNote(binding.bindId);
    if (note?.bootId !== bootId) return undefined;
    const { steps } = await prepareHostWork(deps, binding, inventory);
    return steps.length > 0 ? shareOf(inventory, binding, steps) : undefined;
  } catch (error) {
    deps.log.info('Bind takes no part in a shared job.', { bind: binding.bindId, error });
    return undefined;
  }
}

/**
 * Has one job created for all of them. Its uuid follows from the binds, so the same job is never
 * for others. Each bind keeps its message: if the job does not make it ready, it gets its own.
 *
 * @throws RetryLater always: until the binds have ended, or AWS does not throttle
 */
export async function askForAll(
  deps: ConsumerDeps,
  [first, ...others]: readonly [Share, ...Share[]],
  { host, waiting }: HostInventory,
  bootId: string,
): Promise<never> {
  const { hostname, form } = host;
  const { bindId: ownId, requestId } = first.binding;
  const shares = [first, ...others].sort((a, b) => (a.binding.bindId < b.binding.bindId ? -1 : 1));
  const bindIds = shares.map(({ binding }) => binding.bindId);
  const instances = shares.map(({ binding }) => binding.instanceUuid);
  const uuid = derivedUuid('shared', bootId, ...bindIds);
  // From now on what the bind's own job says to have left behind is not all: see finishBinds().
  if (!waiting.some(({ bindId }) => bindId === ownId)) await waitForJob(deps, first.binding);
  // In whole hours, so that the next attempt writes the same note.
  const expiresAt = (Math.ceil(deps.clock() / hourMs) + noteKeptHours) * 3600;
  await deps.store.arqs.noteJob(uuid, { instances, bootId, bindIds, expiresAt });
  const asked = { uuid, hostname, bootId, form, requestId };
  const steps = shares.flatMap((share) => share.steps);
  await askHost(deps, 'bind', asked, { bind_id: uuid, steps }, { instances });
  const until = new Date(deps.clock() + sharedSeconds * 1000).toISOString();
  await deps.store.waitingBinds.putShared(hostname, bindIds, until);
  throw leftToShared();
}
