import type { Deps } from '../../deps.ts';
import type { InstanceBinding } from '../../domain/arq.ts';
import { unboundUntil } from '../../domain/deadlines.ts';
import type { ArqUuid } from '../../domain/ids.ts';
import type { Release } from '../../store/bindings.ts';
import { boundArqs } from '../bind/bound-arqs.ts';
import { changeNoteOf } from '../change-note-of.ts';
import { contended, untilWritten } from '../optimistic-writes.ts';
import { newRelease } from './new-release.ts';
import { planCleaning } from './plan-cleaning.ts';

const roundsMax = 30;

/**
 * Ends the claims of an instance: of all its ARQs, or of those named. Repeatable.
 *
 * @param known the instance's binding, where the caller has just read it
 * @returns false where the instance has none of the ARQs
 */
export async function releaseArqs(
  deps: Deps,
  instanceUuid: string,
  which: 'all' | ReadonlySet<ArqUuid>,
  fate: Release['fate'],
  known?: InstanceBinding,
): Promise<boolean> {
  return untilWritten(
    roundsMax,
    async (round) => {
      const isKnown = round === 1 && known !== undefined;
      const binding = isKnown ? known : await deps.store.arqs.binding(instanceUuid);
      return binding ? releaseOnce(deps, binding, which, fate) : false;
    },
    () =>
      new Error(`The ARQs of instance ${instanceUuid} were not released in ${roundsMax} rounds.`),
  );
}

async function releaseOnce(
  deps: Deps,
  binding: InstanceBinding,
  which: 'all' | ReadonlySet<ArqUuid>,
  fate: Release['fate'],
): Promise<boolean | typeof contended> {
  const bound = await boundArqs(deps, binding);
  const arqs = which === 'all' ? bound : bound.filter((arq) => which.has(arq.uuid));
  if (arqs.length === 0 && which !== 'all') return false;
  const left = bound.filter((arq) => !arqs.includes(arq)).map((arq) => arq.uuid);
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
    change: changeNoteOf(deps),
    unboundUntil: unboundUntil(deps.settings, deps.clock()),
  });
  if (outcome === 'contended') return contended;
  deps.log.info('Released.', {
    instance: binding.instanceUuid,
    arqs: arqs.map((arq) => arq.uuid),
    bind: binding.bindId,
  });
  return true;
}
