// The places of a project's unbound ARQs. Unbound ARQs cost nothing to make, and each write of one
// tenant takes from what all share.

import type { NovaDeps } from '#core/deps.ts';
import type { Arq } from '#core/domain/arq/arq.ts';
import {
  isTidiedNow,
  isUntidy,
  looksAgainAfterMs,
  needsPlace,
  type PartContent,
  partsFor,
  partsForArq,
  sharesOf,
  type UnboundPart,
} from '#core/domain/arq/unbound-places.ts';
import { TooManyUnbound } from '#core/domain/errors.ts';
import type { ArqUuid } from '#core/domain/ids.ts';

const dayMs = 24 * 60 * 60_000;
/** Other requests may tidy the part, too. */
const tidyRoundsMax = 3;
/** Without tidying, with it, and again while others take the room that was read. */
const takeRoundsMax = 5;

/**
 * Takes a place for each ARQ, before it is stored. If no part has room, the places of ARQs that
 * are bound or gone are free again; if all are needed, the creation is refused.
 *
 * @throws TooManyUnbound
 */
export async function takePlaces(
  deps: NovaDeps,
  projectId: string,
  arqs: readonly Pick<Arq, 'uuid'>[],
): Promise<void> {
  const uuids = arqs.map(({ uuid }) => uuid);
  const { unboundArqsMax: max, unboundArqMinutes: minutes } = deps.settings;
  const parts = partsForArq(partsFor(projectId, max), uuids[0] ?? '');
  const [first] = parts;
  if (!first || (await takeIn(deps, first, uuids))) return;

  let left: readonly ArqUuid[] = uuids;
  let count = 0;
  const taken: { readonly part: UnboundPart; readonly uuids: readonly ArqUuid[] }[] = [];
  for (let round = 1; round <= takeRoundsMax; round++) {
    const tidies = round > 1;
    count = 0;
    for (const part of parts) {
      const content = await contentOf(deps, part, parts);
      // A write of ours whose answer was lost.
      left = left.filter((uuid) => !content.uuids.includes(uuid));
      const kept = tidies ? await tidy(deps, part, content) : content.uuids;
      count += kept.filter((uuid) => !uuids.includes(uuid as ArqUuid)).length;
      const some = left.slice(0, Math.max(part.max - kept.length, 0));
      if (some.length > 0 && (await takeIn(deps, part, some))) {
        taken.push({ part, uuids: some });
        left = left.slice(some.length);
      }
      if (left.length === 0) return;
    }
    // What was read as free may have been taken by another request, and then freed by a third.
    if (tidies && count + uuids.length > max) break;
  }
  for (const { part, uuids: some } of taken) {
    for (const uuid of some) await deps.store.unbound.leave(part, uuid);
  }
  throw new TooManyUnbound({ count, requested: uuids.length, max, minutes });
}

/**
 * Looks for the places again after a creation that took long: another request may have freed them
 * as those of a creation that died.
 *
 * @throws TooManyUnbound; then the ARQs are deleted
 */
export async function keepPlaces(
  deps: NovaDeps,
  projectId: string,
  arqs: readonly Arq[],
): Promise<void> {
  const { unboundArqsMax: max } = deps.settings;
  const beganMs = Date.parse(arqs[0]?.createdAt ?? '');
  if (max === 0 || deps.clock() - beganMs < looksAgainAfterMs) return;
  const contents = await Promise.all(
    partsFor(projectId, max).map((part) => deps.store.unbound.read(part)),
  );
  const stored = new Set(contents.flatMap((content) => content?.uuids ?? []));
  const lost = arqs.filter(({ uuid }) => !stored.has(uuid));
  if (lost.length === 0) return;
  try {
    await takePlaces(deps, projectId, lost);
  } catch (error) {
    for (const { uuid } of arqs) await deps.store.arqs.deleteUnbound(uuid);
    throw error;
  }
}

/** Frees the place of an ARQ that was deleted, if it has one. */
export async function leavePlace(
  deps: NovaDeps,
  { projectId, uuid }: Pick<Arq, 'projectId' | 'uuid'>,
): Promise<void> {
  for (const part of partsForArq(partsFor(projectId, deps.settings.unboundArqsMax), uuid)) {
    if (await deps.store.unbound.leave(part, uuid)) return;
  }
}

async function takeIn(
  deps: NovaDeps,
  part: UnboundPart,
  uuids: readonly ArqUuid[],
): Promise<boolean> {
  const content = await deps.store.unbound.take(part, uuids, keptUntil(deps));
  if (content && isUntidy(content)) await tidy(deps, part, content);
  return content !== undefined;
}

/** The parts of a project that has none yet have the ARQs that an earlier release has stored. */
async function contentOf(
  deps: NovaDeps,
  part: UnboundPart,
  parts: readonly UnboundPart[],
): Promise<PartContent> {
  const { unbound } = deps.store;
  const content = await unbound.read(part);
  if (content) return content;
  const earlier = await deps.listings.unboundUuids(part.projectId);
  for (const each of parts) {
    await unbound.create(each, sharesOf(each, parts.length, earlier), keptUntil(deps));
  }
  return contentOf(deps, part, parts);
}

/** The next creation stores a row again that has expired. */
function keptUntil({ settings, clock }: NovaDeps): number {
  return Math.ceil((clock() + settings.unboundArqMinutes * 60_000 + dayMs) / 1000);
}

/** @returns the ARQs that the part has then */
async function tidy(
  deps: NovaDeps,
  part: UnboundPart,
  initial: PartContent,
): Promise<readonly string[]> {
  let content = initial;
  for (let round = 1; round <= tidyRoundsMax; round++) {
    const { uuids } = content;
    const nowMs = deps.clock();
    if (isTidiedNow(content, nowMs)) break;
    const arqs = await deps.store.arqs.byUuids(uuids as readonly ArqUuid[]);
    const free = uuids.filter((uuid) => !needsPlace(uuid, arqs.get(uuid as ArqUuid), nowMs));
    if (await deps.store.unbound.tidy(part, content, free, nowMs)) {
      return uuids.filter((uuid) => !free.includes(uuid));
    }
    content = (await deps.store.unbound.read(part)) ?? content;
  }
  return content.uuids;
}
