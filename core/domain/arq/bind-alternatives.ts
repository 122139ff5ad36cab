// The alternatives of the ARQs that one bind binds. The providers that Nova chose show which
// alternative each request for ARQs was given: all its ARQs get that one, or the bind is refused.
// Nova reads the profile once for the flavor and once for each port. Pure.

import { BindTargetMismatch, DomainError } from '#core/domain/errors.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import type { Groups } from '#core/domain/profile/alternatives.ts';
import type { Group } from '#core/domain/profile/device-profile.ts';
import type { Arq } from './arq.ts';

type Arqs = ReadonlyMap<ArqUuid, Arq>;

interface Attempts<T> {
  /** @throws DomainError if the ARQ cannot have its group from its provider */
  readonly check: (arq: Arq) => void;
  /** @throws DomainError */
  readonly plan: (arqs: Arqs) => T;
}

/** Flavors and ports of several alternatives that fit, in all their combinations. */
const plansMax = 64;

/**
 * The plan of the first alternatives for which there is one.
 *
 * @throws DomainError of those that came nearest; BindTargetMismatch with all reasons where the
 *   providers are those of no alternative
 */
export function firstPossible<T>(arqs: Arqs, { check, plan }: Attempts<T>): T {
  const requests = [...byRequest(arqs.values()).values()];
  if (requests.every(([arq]) => !arq?.alternatives)) return plan(arqs);
  const possible = requests.map((request) => possibleOf(request, check));
  const refusals: DomainError[] = [];
  for (const chosen of combinations(possible)) {
    try {
      return plan(new Map(chosen.flat().map((arq) => [arq.uuid, arq])));
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      refusals.push(error);
    }
  }
  throw refusals[0] ?? new BindTargetMismatch('The bind has no accelerator request.');
}

/** The ARQs that one request made. */
export function byRequest<Each extends Pick<Arq, 'deviceProfileName' | 'requestId' | 'createdAt'>>(
  arqs: Iterable<Each>,
): ReadonlyMap<string, readonly Each[]> {
  return Map.groupBy(arqs, ({ deviceProfileName, requestId, createdAt }) =>
    [deviceProfileName, requestId, createdAt].join(' '),
  );
}

/** The lists of groups of ARQs of one request, as its profile had them. */
export function listsOf(arqs: readonly Arq[]): readonly Groups[] {
  const groups = new Map(
    arqs.map(({ groupId, group, alternatives }) => [groupId, alternatives ?? [group]]),
  );
  const ordered = [...groups].sort(([one], [other]) => one - other).map(([, lists]) => lists);
  const count = Math.min(...ordered.map((lists) => lists.length));
  return Array.from({ length: count }, (_, index) => ordered.map((lists) => lists[index] as Group));
}

/**
 * The ARQs of one request in each alternative that its providers have.
 *
 * @throws DomainError
 */
function possibleOf(arqs: readonly Arq[], check: (arq: Arq) => void): readonly (readonly Arq[])[] {
  const refusals: DomainError[] = [];
  const possible = listsOf(arqs).flatMap((_, index) => {
    const chosen = arqs.map((arq) => ({ ...arq, group: arq.alternatives?.[index] ?? arq.group }));
    try {
      for (const arq of chosen) check(arq);
      return [chosen];
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      refusals.push(error);
      return [];
    }
  });
  if (possible.length > 0) return possible;
  throw nearest(refusals);
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

function* combinations<Each>(
  choices: readonly (readonly Each[])[],
  left = { plans: plansMax },
): Generator<readonly Each[]> {
  const [first, ...others] = choices;
  if (!first) {
    left.plans -= 1;
    yield [];
    return;
  }
  for (const each of first) {
    for (const rest of combinations(others, left)) {
      yield [each, ...rest];
      if (left.plans <= 0) return;
    }
  }
}
