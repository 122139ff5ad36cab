// The ARQs of one bind, as each alternative of their profile has them. The providers that Nova
// chose show which alternative it was given: all ARQs of the bind get that one, or the bind is
// refused. Pure.

import { BindTargetMismatch, DomainError } from '#core/domain/errors.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import type { Arq } from './arq.ts';

type Arqs = ReadonlyMap<ArqUuid, Arq>;

/**
 * What the first alternative gives that is not refused.
 *
 * @throws DomainError of the alternative that came nearest; BindTargetMismatch with all reasons
 *   where the providers are those of no alternative
 */
export function firstPossible<T>(arqs: Arqs, plan: (arqs: Arqs) => T): T {
  const refusals: DomainError[] = [];
  for (const each of byAlternative(arqs)) {
    try {
      return plan(each);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      refusals.push(error);
    }
  }
  throw nearest(refusals);
}

function byAlternative(arqs: Arqs): readonly Arqs[] {
  const lists = [...arqs.values()].flatMap(({ alternatives }) => alternatives?.length ?? []);
  if (lists.length === 0) return [arqs];
  return Array.from(
    { length: Math.min(...lists) },
    (_, index) =>
      new Map(
        [...arqs].map(([uuid, arq]) => [
          uuid,
          { ...arq, group: arq.alternatives?.[index] ?? arq.group },
        ]),
      ),
  );
}

/** An alternative whose providers Nova did not choose is refused as a mismatch. */
function nearest(refusals: readonly DomainError[]): DomainError {
  const [first, ...others] = refusals as [DomainError, ...DomainError[]];
  if (others.length === 0) return first;
  const matching = refusals.find((each) => !(each instanceof BindTargetMismatch));
  if (matching) return matching;
  const reasons = [...new Set(refusals.map(({ message }) => message))].join(' ');
  return new BindTargetMismatch(`No alternative of the device profile fits. ${reasons}`);
}
