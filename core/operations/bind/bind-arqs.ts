import type { NovaDeps } from '#core/deps.ts';
import type { Arq, InstanceBinding } from '#core/domain/arq/arq.ts';
import {
  type BindTarget,
  needsHost,
  type PlannedClaim,
  planBind,
  type StoredProvider,
} from '#core/domain/arq/bind-plan.ts';
import { type Caller, isAdmin, maySee, userActor } from '#core/domain/caller.ts';
import { countFree } from '#core/domain/device/handle-state.ts';
import { ArqNotFound, BindTargetMismatch, Forbidden, NoFreeHandle } from '#core/domain/errors.ts';
import { AgentAway, HostPaused, refusalOfMistrusted } from '#core/domain/host/host-errors.ts';
import { pausedUntil } from '#core/domain/host/host-pause.ts';
import { heardAt, isLost } from '#core/domain/host/presence.ts';
import { bindDueAt } from '#core/domain/host-work/deadlines.ts';
import type { ArqUuid, BindId, InstanceUuid, ProviderUuid } from '#core/domain/ids.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';
import { checkAllocation } from './check-allocation.ts';
import { replaceBinding } from './replace-binding.ts';
import { settlePromises, takeOtherClasses } from './take-alternative.ts';

/**
 * Binds ARQs to one instance, all or none. The same call again finds them bound and changes
 * nothing.
 *
 * A claim that loses a handle to another instance is repeated with the next free handle: the
 * caller never sees contention.
 *
 * @throws DomainError for what lasts; then nothing has changed.
 */
export async function bindArqs(
  deps: NovaDeps,
  caller: Caller,
  targets: readonly BindTarget[],
): Promise<void> {
  const { instanceUuid } = onePlace(targets);
  await untilWritten(
    'arqs',
    () => bindOnce(deps, caller, targets),
    `No claim for instance ${instanceUuid} went through`,
  );
}

/** ARQs that one request binds to one instance. */
interface Bind {
  readonly instanceUuid: InstanceUuid;
  /** The instance's, to which the ARQs belong from now on. */
  readonly projectId: string;
  readonly targets: readonly BindTarget[];
  readonly arqs: ReadonlyMap<ArqUuid, Arq>;
}

/** One round of reading and claiming. */
async function bindOnce(
  deps: NovaDeps,
  caller: Caller,
  targets: readonly BindTarget[],
): Promise<typeof contended | undefined> {
  const { instanceUuid, hostname } = onePlace(targets);
  const [arqs, providers] = await Promise.all([
    visibleArqs(deps, caller, targets),
    readProviders(deps, targets),
  ]);
  if (targets.every((target) => isBoundAs(arqs.get(target.arqUuid), target))) return undefined;
  const projectId = await owningProject(deps, caller, instanceUuid, [...arqs.values()]);
  const bind: Bind = { instanceUuid, projectId, targets, arqs };
  const claims = await claimsOrReplace(deps, bind, providers);
  if (!claims) return contended;
  await checkAllocation(deps, targets, new Map(claims.map(({ arq }) => [arq.uuid, arq])));
  const isForHost = claims.some(needsHost);
  if (isForHost) await refuseAbsentOrFailing(deps, hostname);
  const isRecounted = await takeOtherClasses(deps, projectId, arqs, claims);
  const nowMs = deps.clock();
  const now = new Date(nowMs).toISOString();
  const binding: InstanceBinding = {
    instanceUuid,
    bindId: deps.uuid() as BindId,
    state: isForHost ? 'BindStarted' : 'Bound',
    hostname,
    projectId,
    arqUuids: targets.map((target) => target.arqUuid),
    ...commonProfileName(claims),
    startedAt: now,
    requestId: caller.requestId,
    ...(isForHost && { isAwaited: false }),
  };
  const groups = claims.map(({ arq }) => arq.group);
  const dueAt = isForHost ? bindDueAt(groups, deps.settings, nowMs, nowMs) : undefined;
  const change = { at: now, by: userActor(caller), requestId: caller.requestId };
  if ((await deps.store.bindings.claim(binding, claims, change, dueAt)) === 'contended') {
    await replaceOther(deps, bind);
    return contended;
  }
  const counted = new Set([projectId, ...claims.map(({ arq }) => arq.projectId)]);
  if (counted.size > 1 || isRecounted) {
    // The ARQs count elsewhere now; see docs/adr/0027-quotas.md.
    for (const project of counted) {
      await deps.store.quotas.recountSoon(project, now);
    }
  }
  await settlePromises(deps, claims);
  // The line of the request says the same of ARQs that are Bound with its answer.
  if (isForHost) {
    const fields = { instance: instanceUuid, arqs: binding.arqUuids, host: hostname };
    deps.log.info('Bind started', fields);
  }
  return undefined;
}

function commonProfileName(
  claims: readonly { readonly arq: Arq }[],
): Pick<InstanceBinding, 'profileName'> {
  const [profileName, ...others] = new Set(claims.map(({ arq }) => arq.deviceProfileName));
  return profileName === undefined || others.length > 0 ? {} : { profileName };
}

/** Refuses a bind that its host cannot prepare: only an error now makes Nova fail early. */
async function refuseAbsentOrFailing(deps: NovaDeps, hostname: string): Promise<void> {
  const { host } = await deps.store.inventory.host(hostname);
  const refusal = refusalOfMistrusted(host);
  if (refusal) throw refusal;
  if (isLost(host, deps.clock())) throw new AgentAway(hostname, heardAt(host));
  const until = pausedUntil(host, deps.clock());
  if (until && host.failedJobs) throw new HostPaused(hostname, host.failedJobs, until);
}

function onePlace(targets: readonly BindTarget[]): {
  instanceUuid: InstanceUuid;
  hostname: string;
} {
  const [first, ...others] = targets as [BindTarget, ...BindTarget[]];
  for (const other of others) {
    if (other.instanceUuid !== first.instanceUuid) {
      throw new BindTargetMismatch(
        `One request binds to one instance, not to ${first.instanceUuid} and ${other.instanceUuid}.`,
      );
    }
    if (other.hostname !== first.hostname) {
      throw new BindTargetMismatch(
        `Instance ${first.instanceUuid} cannot be on hosts ${first.hostname} and ${other.hostname}.`,
      );
    }
  }
  return first;
}

async function visibleArqs(
  deps: NovaDeps,
  caller: Caller,
  targets: readonly BindTarget[],
): Promise<Map<ArqUuid, Arq>> {
  const uuids = targets.map((target) => target.arqUuid);
  const arqs = await deps.store.arqs.byUuids(uuids);
  const missing = uuids.filter((uuid) => {
    const arq = arqs.get(uuid);
    return !arq || !maySee(caller, arq.projectId);
  });
  if (missing.length > 0) throw new ArqNotFound(missing);
  return arqs;
}

function isBoundAs(arq: Arq | undefined, target: BindTarget): boolean {
  return (
    arq?.binding?.instanceUuid === target.instanceUuid &&
    arq.binding.hostname === target.hostname &&
    arq.binding.providerUuid === target.providerUuid
  );
}

/** A releasing handle is claimed only after all handles were read and too few were free. */
async function readProviders(
  deps: NovaDeps,
  targets: readonly BindTarget[],
): Promise<Map<ProviderUuid, StoredProvider>> {
  const byProvider = Map.groupBy(targets, ({ providerUuid }) => providerUuid);
  const providers = await Promise.all(
    [...byProvider].map(([uuid, { length }]) =>
      deps.store.inventory.providerWith(uuid, {
        random: deps.random(),
        isEnough: (handles) => countFree(handles) >= length,
      }),
    ),
  );
  const stored = providers.filter((provider) => provider !== undefined);
  return new Map(stored.map((provider) => [provider.deployable.providerUuid, provider]));
}

/**
 * An ARQ belongs to the project of its instance. That is its creator's, but an admin who evacuates
 * or unshelves creates ARQs for a tenant's instance, and only Nova knows whose it is.
 *
 * @param arqs that the caller may see: a member's are all of the member's project
 * @throws Forbidden where the instance is another project's
 * @throws BindTargetMismatch for an ARQ of a third project
 */
async function owningProject(
  deps: NovaDeps,
  caller: Caller,
  instanceUuid: InstanceUuid,
  arqs: readonly Arq[],
): Promise<string> {
  if (caller.hasServiceToken && !isAdmin(caller)) return caller.projectId;
  const server = await deps.clients.nova.server(instanceUuid);
  const owner = server === 'not-found' ? undefined : server.projectId;
  if (!caller.hasServiceToken && !isAdmin(caller) && owner !== caller.projectId) {
    throw new Forbidden(`Instance ${instanceUuid} is not an instance of this project.`);
  }
  const project = owner ?? arqs[0]?.projectId ?? caller.projectId;
  for (const arq of arqs) {
    if ([project, caller.projectId].includes(arq.projectId)) continue;
    throw new BindTargetMismatch(
      `ARQ ${arq.uuid} is of project ${arq.projectId}, and instance ${instanceUuid} is of project ${project}.`,
    );
  }
  return project;
}

/**
 * The claims, or undefined where the instance itself held the handles and has just released them:
 * Nova may have given up its allocation, and offer the same devices again.
 *
 * @throws DomainError
 */
async function claimsOrReplace(
  deps: NovaDeps,
  bind: Bind,
  providers: ReadonlyMap<ProviderUuid, StoredProvider>,
): Promise<PlannedClaim[] | undefined> {
  const { targets, arqs } = bind;
  const { attachTypes } = deps.settings;
  try {
    return planBind({ targets, arqs, providers, attachTypes, random: deps.random });
  } catch (error) {
    const isTaken = error instanceof NoFreeHandle;
    if (isTaken && (await replaceOther(deps, bind))) return undefined;
    throw error;
  }
}

/**
 * Whether the instance had a binding of other ARQs, which is released now.
 *
 * @throws InstanceAlreadyBound
 */
async function replaceOther(deps: NovaDeps, bind: Bind): Promise<boolean> {
  const { instanceUuid, projectId, targets, arqs } = bind;
  const binding = await deps.store.arqs.binding(instanceUuid);
  const isOther = binding?.arqUuids.some(
    (uuid) => !targets.some((target) => target.arqUuid === uuid),
  );
  if (!binding || !isOther) return false;
  await replaceBinding(deps, binding, projectId, [...arqs.values()]);
  return true;
}
