// A region of an FPGA can have several attach handles, and so several instances. A program for one
// instance changes the region for all.

import { ImageUnusable } from '#core/clients/openstack/glance.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { type InstanceBinding, isResolved } from '#core/domain/arq/arq.ts';
import { needsProgram, type StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { InstanceUuid } from '#core/domain/ids.ts';
import { type ImageQuery, wantedImage } from '#core/domain/profile/device-profile.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import type { BoundArq } from '#core/store/arqs/binding-items.ts';

/** A bind, in the boot that its host is in. */
export interface BindInBoot {
  readonly binding: InstanceBinding;
  readonly bootId: string | undefined;
}

export function behindOthers(): RetryLater {
  return new RetryLater('Another instance has the region programmed.', 1);
}

/** A bind that waits ends by its deadline. SQS delivers a message a few hundred times at most. */
const behindBindSeconds = 5;

/** ARQs of other instances that hold a part of the region. */
export async function neighboursIn(
  deps: ConsumerDeps,
  { handles }: StoredProvider,
  instanceUuid: InstanceUuid,
): Promise<BoundArq[]> {
  const others = handles.flatMap(({ claim }) =>
    claim && claim.instanceUuid !== instanceUuid ? [claim.arqUuid] : [],
  );
  if (others.length === 0) return [];
  const arqs = await deps.store.arqs.byUuids(others);
  return [...arqs.values()].filter((arq): arq is BoundArq => arq.binding !== undefined);
}

/**
 * Whether the unresolved bind of a neighbour may have another image programmed into the region.
 */
export function isBeingProgrammed(
  neighbours: readonly BoundArq[],
  { deployable }: StoredProvider,
): boolean {
  return neighbours.some(
    ({ state, group }) => !isResolved(state) && needsProgram(group, deployable),
  );
}

/**
 * Decides which instance programs a region that several instances held when their host booted: the
 * one with the lowest bind id. The others find the region programmed.
 *
 * @throws ImageUnusable where an instance with another image holds the region
 * @throws RetryLater while it is the turn of another instance
 */
export async function takeTurn(
  deps: ConsumerDeps,
  { binding, bootId }: BindInBoot,
  queries: readonly ImageQuery[],
  neighbours: readonly BoundArq[],
): Promise<'program' | 'done'> {
  const isSame = ({ group }: BoundArq) =>
    queries.every(({ by, value }) => {
      const other = wantedImage(group);
      return other?.by === by && other.value === value;
    });
  const unlike = neighbours.filter((neighbour) => !isSame(neighbour));
  if (binding.state !== 'provisioning' || unlike.some(({ state }) => state !== 'BindStarted')) {
    throw new ImageUnusable('The region cannot be programmed: another instance uses it.');
  }
  // A bind that started after the reboot may have read stale state and be Bound already. If not,
  // it retries behind this one until its deadline.
  if (unlike.length > 0) {
    throw new RetryLater('Another instance is being bound to the region.', behindBindSeconds);
  }
  const instances = new Set(neighbours.map((arq) => arq.binding.instanceUuid));
  const others = await Promise.all([...instances].map((uuid) => deps.store.arqs.binding(uuid)));
  if (others.some((other) => other?.state === 'Bound' && other.bootId === bootId)) return 'done';
  const isMine = others.every(
    (other) => other?.state === 'provisioning' && binding.bindId < other.bindId,
  );
  if (!isMine) throw behindOthers();
  return 'program';
}
