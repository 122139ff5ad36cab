// Instances that hold devices and do not use them: when the reaper releases them by itself, and
// when it waits for an operator. Pure.

import type { Shaped } from '#core/shapes/derive/case.ts';
import type { waitingInstance } from '#core/shapes/host-work.ts';
import type { InstanceBinding } from './arq.ts';

export type WaitingInstance = Shaped<typeof waitingInstance>;

/** How long an instance must be unused: replicas and cells of Nova may lag. */
export const unusedMs = 10 * 60_000;
/**
 * How long Nova must answer 404 for a server that was deleted during its build: no host had the
 * server at any look, so no guest uses its devices.
 */
export const neverBuiltMs = 60_000;
/** More such servers in one minute may mean a fault; they are released a minute later each. */
export const neverBuiltMax = 20;
/** More at once may mean a fault of Nova or of the credentials, not lost deletes. */
export const releasesMax = 10;
/**
 * Where more are found at once, each sweep releases this many, so that an operator has time to see
 * the alarm. Only those that Nova says do not exist.
 */
export const releasesOfMany = 1;
/** Keeps the row of waiting instances below DynamoDB's 400 KB. */
const waitingMax = 1000;
/** A walk through all deployables of a very large cloud takes half a day. */
const forgottenMs = 24 * 3600_000;

/** Whether its server did not exist at the last look. */
export function seemsDeleted(binding: InstanceBinding): boolean {
  return binding.reservedProviders !== undefined && !binding.hasLostAllocation;
}

/** Whether its server seemed to be deleted during the build at the last look. */
export function seemsNeverBuilt(binding: InstanceBinding): boolean {
  return seemsDeleted(binding) && !binding.wasBuilt;
}

/** How long the instance must be unused before it is released. */
export function unusedForMs(binding: InstanceBinding): number {
  return seemsNeverBuilt(binding) ? neverBuiltMs : unusedMs;
}

/** Which of the unused instances of a page are released now, the longest unused first. */
export function chooseReleases<Unused extends Pick<WaitingInstance, 'since' | 'isAbsent'>>(
  unused: readonly Unused[],
): readonly Unused[] {
  if (unused.length <= releasesMax) return unused;
  const proven = unused.filter(({ isAbsent }) => isAbsent);
  return proven.toSorted((a, b) => (a.since < b.since ? -1 : 1)).slice(0, releasesOfMany);
}

/** The waiting instances after a page was read; those of other pages stay. */
export function waitingAfter(
  before: readonly WaitingInstance[],
  page: string,
  waiting: readonly WaitingInstance[],
  nowMs: number,
): readonly WaitingInstance[] {
  const uuids = new Set(waiting.map(({ instanceUuid }) => instanceUuid));
  const others = before.filter(
    (each) =>
      each.page !== page &&
      !uuids.has(each.instanceUuid) &&
      nowMs - Date.parse(each.foundAt) < forgottenMs,
  );
  return [...others, ...waiting].slice(0, waitingMax);
}
