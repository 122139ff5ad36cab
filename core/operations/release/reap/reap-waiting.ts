import { ServiceUnavailable } from '#core/clients/http.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import { unusedMs, type WaitingInstance } from '#core/domain/arq/reaper.ts';
import type { Caller } from '#core/domain/caller.ts';
import type { InstanceUuid } from '#core/domain/ids.ts';
import { ServersHidden } from '#core/domain/operator-errors.ts';
import { releaseUnused } from './reap.ts';
import { reasonToKeep, serverState } from './reason-to-keep.ts';
import { checkVisibility } from './visibility.ts';

interface ReapEnd {
  readonly released: readonly InstanceUuid[];
  readonly kept: readonly { readonly instanceUuid: InstanceUuid; readonly reason: string }[];
  /** Instances that were not looked at in the time. */
  readonly left: number;
}

/**
 * The unused instances for which the reaper waits, with their bindings; without those that have
 * been deleted since.
 */
export async function waitingInstances(
  deps: Pick<ConsumerDeps, 'store'>,
  only?: string,
): Promise<readonly (WaitingInstance & { readonly binding: InstanceBinding })[]> {
  const listed = (await deps.store.reaper.waiting()).filter(
    ({ instanceUuid }) => only === undefined || instanceUuid === only,
  );
  const bindings = await deps.store.arqs.bindings(listed.map(({ instanceUuid }) => instanceUuid));
  return listed.flatMap((each) => {
    const binding = bindings.get(each.instanceUuid);
    // Another bind of the instance has no such mark.
    return binding?.unusedSince === undefined ? [] : [{ ...each, binding }];
  });
}

/**
 * Releases the unused instances that wait for an operator, the longest unused first. Each is
 * looked at again: an instance that Nova has on a host now, or that has an allocation, is kept.
 *
 * @param untilMs when no other instance is begun
 * @throws ServersHidden where Nova's "not found" proves nothing
 */
export async function reapWaiting(
  deps: ConsumerDeps,
  caller: Caller,
  only: string | undefined,
  untilMs: number,
): Promise<ReapEnd> {
  const waiting = (await waitingInstances(deps, only)).toSorted((a, b) =>
    a.since < b.since ? -1 : 1,
  );
  if ((await checkVisibility(deps.clients)) !== 'seen') throw new ServersHidden();
  const released: InstanceUuid[] = [];
  const kept: { instanceUuid: InstanceUuid; reason: string }[] = [];
  for (const { instanceUuid, binding } of waiting) {
    if (deps.clock() > untilMs) break;
    const reason = await reasonNow(deps, binding);
    if (reason) {
      kept.push({ instanceUuid, reason });
      continue;
    }
    await releaseUnused(deps, binding);
    released.push(instanceUuid);
  }
  if (released.length > 0) {
    deps.log.warn('Unused instances released by an operator', { released, by: caller.userId });
  }
  return { released, kept, left: waiting.length - released.length - kept.length };
}

async function reasonNow(
  deps: ConsumerDeps,
  binding: InstanceBinding,
): Promise<string | undefined> {
  const unusedForMs = deps.clock() - Date.parse(binding.unusedSince ?? '');
  if (!(unusedForMs >= unusedMs)) return 'It is unused for less than ten minutes.';
  try {
    const state = await serverState(deps, binding.instanceUuid);
    if (state === 'on-host') return 'Nova has it on a host.';
    return await reasonToKeep(deps, binding);
  } catch (error) {
    if (!(error instanceof ServiceUnavailable)) throw error;
    return `OpenStack cannot be asked: ${error.message}`;
  }
}
