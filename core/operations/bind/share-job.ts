// One job for several binds of a device. AWS creates ten jobs a second in an account: while it
// throttles, binds wait, and the first that gets through takes others of its device along. See
// docs/adr/0049-shared-jobs.md.

import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { PrepareHandleStep, PrepareStep } from '#core/contracts/jobs/job-document.ts';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import type { WaitingBind } from '#core/domain/host-work/host-work.ts';
import { derivedUuid } from '#core/domain/ids.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { askHost } from '#core/operations/host-work/ask-host.ts';
import { prepareHostWork } from '#core/operations/host-work/prepare-host-work.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import { timeNow } from '../time-now.ts';

/** A shared job carries at most this many attach handles, because its answer names each one. */
export const handlesMax = 6;
const answerLengthMax = 1024;
/** What a host may add to the `info` of a handle: the function that it has chosen. */
const chosen = { domain: '0000', bus: '00', device: '00', function: '0' };
/** How many waiting binds are looked at. */
const candidatesMax = 12;
/** How long a bind leaves its work to a shared job, and how often it looks meanwhile. */
export const sharedSeconds = 30;
export const lookSeconds = 10;
/** Beyond the deadline of a bind, after which the end of its jobs has no effect. */
const noteKeptSeconds = 3600;

/** A bind with what its host has to do for it. */
export interface Share {
  readonly binding: InstanceBinding;
  readonly steps: readonly PrepareHandleStep[];
  /** It is stored that the bind waits. */
  readonly isStored: boolean;
}

/** @throws RetryLater while a shared job has the bind */
export function leaveToSharedJob(
  deps: ConsumerDeps,
  inventory: HostInventory,
  binding: InstanceBinding,
): void {
  const stored = waitingRow(inventory, binding);
  if (stored && isShared(deps, stored)) throw leftToShared();
}

function waitingRow({ waiting }: HostInventory, binding: InstanceBinding): WaitingBind | undefined {
  return waiting.find(({ bindId }) => bindId === binding.bindId);
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
export function toShare(
  inventory: HostInventory,
  binding: InstanceBinding,
  steps: readonly PrepareStep[],
): Share | undefined {
  const stored = waitingRow(inventory, binding);
  const handleSteps = steps.filter((step) => 'handle' in step);
  const isAlone = stored?.sharedUntil !== undefined || handleSteps.length < steps.length;
  return isAlone ? undefined : { binding, steps: handleSteps, isStored: stored !== undefined };
}

/** Stores that the bind waits for a job, unless that is stored. */
export async function waitForJob(deps: ConsumerDeps, share: Share): Promise<void> {
  if (share.isStored) return;
  const { hostname, instanceUuid, bindId, startedAt } = share.binding;
  const addresses = [...distinctAddresses(share)];
  await deps.store.waitingBinds.add(hostname, { instanceUuid, bindId, addresses, startedAt });
}

function distinctAddresses({ steps }: Share): Set<string> {
  return new Set(steps.map(({ address }) => address));
}

/**
 * Shares of waiting binds of the same devices, as many as fit beside the given one. A job waits
 * for each of its devices, so binds of other devices would wait for one that is busy or hangs.
 *
 * @returns `ended` if the bind of the given share has ended meanwhile
 */
export async function sharesBeside(
  deps: ConsumerDeps,
  share: Share,
  inventory: HostInventory,
  bootId: string,
): Promise<readonly Share[] | 'ended'> {
  const { hostname, bindId: ownId, instanceUuid: ownInstance } = share.binding;
  const devices = distinctAddresses(share);
  const candidates = inventory.waiting
    .filter((each) => each.bindId !== ownId && !isShared(deps, each))
    .filter(({ addresses }) => addresses.every((address) => devices.has(address)))
    .slice(0, candidatesMax);
  if (candidates.length === 0) return [];
  // Stored first: from now on the end of the bind's own job is not all; see finishBinds().
  await waitForJob(deps, share);
  const bindings = await deps.store.arqs.bindings([
    ownInstance,
    ...candidates.map(({ instanceUuid }) => instanceUuid),
  ]);
  const isUnderWay = ({ instanceUuid, bindId }: InstanceBinding | WaitingBind) => {
    const binding = bindings.get(instanceUuid);
    return binding?.bindId === bindId && binding.state === 'BindStarted';
  };
  const over = [share.binding, ...candidates]
    .filter((each) => !isUnderWay(each))
    .map(({ bindId }) => bindId);
  await deps.store.waitingBinds.forget(hostname, over);
  if (over.includes(ownId)) return 'ended';
  const shares: Share[] = [share];
  for (const { instanceUuid, sharedUntil, bindId } of candidates) {
    const binding = bindings.get(instanceUuid);
    if (!binding || sharedUntil !== undefined || over.includes(bindId)) continue;
    const next = await shareBeside(deps, binding, inventory, bootId);
    if (next && fitOneJob([...shares, next])) shares.push(next);
  }
  return shares.slice(1);
}

/** Whether one job has room for them. */
function fitOneJob(shares: readonly Share[]): boolean {
  const steps = shares.flatMap((each) => each.steps);
  const answer = steps.map(({ handle }) => [handle.uuid, { ...chosen, ...handle.info }] as const);
  const { length } = JSON.stringify(Object.fromEntries(answer));
  return steps.length <= handlesMax && length <= answerLengthMax;
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
    return steps.length > 0 ? toShare(inventory, binding, steps) : undefined;
  } catch (error) {
    deps.log.info('Bind left out of a shared job', { bind: binding.bindId, error });
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
  all: readonly [Share, ...Share[]],
  { hostname }: StoredHost,
  bootId: string,
): Promise<never> {
  const { requestId } = all[0].binding;
  const shares = all.toSorted((a, b) => (a.binding.bindId < b.binding.bindId ? -1 : 1));
  const bindIds = shares.map(({ binding }) => binding.bindId);
  const instances = shares.map(({ binding }) => binding.instanceUuid);
  const uuid = derivedUuid('shared', bootId, ...bindIds);
  const startedMs = Math.max(...shares.map(({ binding }) => Date.parse(binding.startedAt)));
  const expiresAt = Math.ceil(startedMs / 1000) + noteKeptSeconds;
  await deps.store.arqs.noteJob(uuid, { instances, bootId, bindIds, expiresAt });
  const request = { uuid, hostname, bootId, requestId };
  const steps = shares.flatMap((share) => share.steps);
  await askHost(deps, 'bind', request, { bind_id: uuid, steps }, { instances });
  const until = timeNow(deps, sharedSeconds * 1000);
  await deps.store.waitingBinds.putShared(hostname, bindIds, until);
  throw leftToShared();
}

/** Stores that the bind has a job of its own, so that no shared one takes it. */
export async function stopSharing(
  deps: ConsumerDeps,
  { hostname, bindId }: InstanceBinding,
): Promise<void> {
  const now = timeNow(deps);
  await deps.store.waitingBinds.putShared(hostname, [bindId], now);
}
