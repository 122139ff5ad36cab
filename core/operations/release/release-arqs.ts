import type { Deps } from '../../deps.ts';
import type { Arq, InstanceBinding } from '../../domain/arq.ts';
import { unboundUntil } from '../../domain/deadlines.ts';
import type { ArqUuid } from '../../domain/ids.ts';
import type { BoundArq } from '../../store/binding-items.ts';
import type { Release } from '../../store/bindings.ts';
import { newRelease } from './new-release.ts';
import { planCleaning } from './plan-cleaning.ts';

const roundsMax = 30;

/**
 * Ends an instance's claims: of all its ARQs, or of those named. Repeatable: what is released
 * already stays so.
 *
 * @param known the instance's binding, where the caller has just read it
 * @returns false where the instance has none of them any more
 */
export async function releaseArqs(
  deps: Deps,
  instanceUuid: string,
  which: 'all' | ReadonlySet<ArqUuid>,
  fate: Release['fate'],
  known?: InstanceBinding,
): Promise<boolean> {
  for (let round = 1; round <= roundsMax; round++) {
    const isKnown = round === 1 && known !== undefined;
    const binding = isKnown ? known : await deps.store.arqs.binding(instanceUuid);
    if (!binding) return false;
    const stored = await deps.store.arqs.byUuids(binding.arqUuids);
    const bound = binding.arqUuids
      .flatMap((uuid) => stored.get(uuid) ?? [])
      .filter((arq): arq is BoundArq => isBoundBy(arq, binding));
    const arqs = which === 'all' ? bound : bound.filter((arq) => which.has(arq.uuid));
    if (arqs.length === 0 && which !== 'all') return false;
    const left = bound.filter((arq) => !arqs.includes(arq)).map((arq) => arq.uuid);
    const plan = planCleaning({
      binding,
      arqs,
      isWhole: left.length === 0,
      requestId: deps.requestId,
      mdevOwner: deps.settings.mdevOwner,
    });
    const nowMs = deps.clock();
    const outcome = await deps.store.bindings.release(binding, {
      arqs,
      fate,
      left,
      ...(plan && { cleaning: newRelease(deps, plan) }),
      now: new Date(nowMs).toISOString(),
      unboundUntil: unboundUntil(deps.settings, nowMs),
    });
    if (outcome === 'released') {
      deps.log.info('Released.', {
        instance: instanceUuid,
        arqs: arqs.map((arq) => arq.uuid),
        bind: binding.bindId,
      });
      return true;
    }
  }
  throw new Error(`The ARQs of instance ${instanceUuid} were not released in ${roundsMax} rounds.`);
}

function isBoundBy(arq: Arq, binding: InstanceBinding): boolean {
  return arq.binding?.bindId === binding.bindId;
}
