import type { NovaDeps } from '#core/deps.ts';
import { heldHandles, type InstanceBinding } from '#core/domain/arq/arq.ts';
import { unboundUntil } from '#core/domain/host-work/deadlines.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import { boundArqs } from '#core/operations/host-work/bound-arqs.ts';
import { newRelease } from '#core/operations/host-work/new-release.ts';
import { planCleaning } from '#core/operations/host-work/plan-cleaning.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { BoundArq } from '#core/store/arqs/binding-items.ts';
import type { Release } from '#core/store/arqs/bindings.ts';

/**
 * Ends the claims of an instance: of all its ARQs, or of those named. Repeatable. The caller logs
 * it: the line of a request has the ARQs.
 *
 * @param initial the instance's binding, where the caller has just read it
 * @returns false where the instance has none of the ARQs
 */
export async function releaseArqs(
  deps: NovaDeps,
  instanceUuid: string,
  which: 'all' | ReadonlySet<ArqUuid>,
  fate: Release['fate'],
  initial?: InstanceBinding,
): Promise<boolean> {
  return untilWritten(
    'arqs',
    async (round) => {
      const isKnown = round === 1 && initial !== undefined;
      const binding = isKnown ? initial : await deps.store.arqs.binding(instanceUuid);
      return binding ? releaseOnce(deps, binding, which, fate) : false;
    },
    `The ARQs of instance ${instanceUuid} were not released`,
  );
}

async function releaseOnce(
  deps: NovaDeps,
  binding: InstanceBinding,
  which: 'all' | ReadonlySet<ArqUuid>,
  fate: Release['fate'],
): Promise<boolean | typeof contended> {
  const bound = await boundArqs(deps, binding);
  const named = which === 'all' ? bound : bound.filter((arq) => which.has(arq.uuid));
  const arqs = binding.isImported ? await withCareNow(deps, named) : named;
  if (arqs.length === 0 && which !== 'all') return false;
  const left = bound.filter((arq) => !named.includes(arq)).map((arq) => arq.uuid);
  const plan = planCleaning({
    binding,
    arqs,
    isWhole: left.length === 0,
    requestId: deps.requestId,
  });
  const outcome = await deps.store.bindings.release(binding, {
    arqs,
    fate,
    left,
    ...(plan && { cleaning: newRelease(deps, plan) }),
    change: makeChangeNote(deps),
    unboundUntil: unboundUntil(deps.settings, deps.clock()),
  });
  if (outcome === 'contended') return contended;
  return true;
}

/**
 * The ARQs with what the host does for their handles now. An ARQ keeps what its host declared at
 * the bind; an imported one was bound before our agent was on its host.
 */
async function withCareNow(deps: NovaDeps, arqs: readonly BoundArq[]): Promise<BoundArq[]> {
  const providers = await deps.store.inventory.providersOf(heldHandles(arqs));
  const byUuid = new Map(
    providers.flatMap((each) => each.handles).map((handle) => [handle.uuid, handle]),
  );
  return arqs.map((arq) => {
    const { attachment } = arq.binding;
    const handle = attachment && byUuid.get(attachment.handleUuid);
    if (!handle) return arq;
    const { handleUuid, type, info } = attachment;
    const { prepare, cleanSeconds } = handle;
    const care = present({ prepare, cleanSeconds });
    return { ...arq, binding: { ...arq.binding, attachment: { handleUuid, type, info, ...care } } };
  });
}
