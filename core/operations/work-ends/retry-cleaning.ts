import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { mistrustOf } from '#core/domain/host/trust.ts';
import { cleaningRetryMs } from '#core/domain/host-work/deadlines.ts';
import { type AwaitedWork, type HandleRef, leftAtOf } from '#core/domain/host-work/host-work.ts';
import { newRelease, type ReleasePlan } from '#core/operations/host-work/new-release.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { type WaitingHandle, waitingHandles } from '#core/operations/release/waiting-handles.ts';
import { timeNow } from '#core/operations/time-now.ts';
import { present } from '#core/shapes/derive/present.ts';
import { itemsPerReplacementMax } from '#core/store/arqs/releases.ts';
import { askAboutJob, hasEnded, jobStatus } from './ask-about-job.ts';
import { endTurn, nextSweepMs, readTurn, takeTurn } from './cleaning-turns.ts';

/** Jobs that one run of the sweep gives one host to clean up again. */
const retriesPerHost = 4;
/** A host that is not trusted is not asked until an operator ends that. */
const mistrustRetryMs = 5 * 60_000;

/**
 * Asks the host again to clean up handles in quarantine, by other releases in the place of this
 * work: their jobs have ids of their own, and the earlier job's end changes nothing. Each device
 * gets a release of its own, so that one that cannot be cleaned does not hold up the others.
 *
 * @param made by host, how many jobs this run of the sweep has made
 */
export async function retryCleaning(
  deps: ConsumerDeps,
  work: AwaitedWork,
  made: Map<string, number>,
): Promise<void> {
  const { kind, id, hostname, retryAt, quarantine: reason = '' } = work;
  // The index may still show the time before.
  if (retryAt === undefined || Date.parse(retryAt) > deps.clock()) return;
  // While two agents report as one host, each might clean up what the other's instances use.
  const host = await deps.store.inventory.hostAlone(hostname);
  if (mistrustOf(host)) {
    await deps.store.releases.postpone(work, timeNow(deps, mistrustRetryMs));
    return;
  }
  const madeOfHost = made.get(hostname) ?? 0;
  const { places, nextAt, mayHaveEnded } = await readTurn(deps, host, work);
  const mayStart = places > 0 && madeOfHost < retriesPerHost;
  if (!mayStart && !mayHaveEnded) {
    await deps.store.releases.postpone(work, nextAt);
    return;
  }
  const retries = (work.retries ?? 0) + 1;
  const retryMs = cleaningRetryMs({ ...work, retries }, deps.clock());
  const status = await jobStatus(deps, kind, id, hostname);
  if (status === 'SUCCEEDED') {
    await askAboutJob(deps, kind, id, hostname);
    return;
  }
  // The host does the job when it is back.
  if (status !== undefined && !hasEnded(status)) {
    await deps.store.releases.postpone(work, timeNow(deps, retryMs));
    return;
  }
  if (!mayStart) {
    await deps.store.releases.postpone(work, nextAt);
    return;
  }
  const waiting = await waitingHandles(deps, work);
  if (waiting.length === 0) return deps.store.releases.confirm(work, makeChangeNote(deps));
  const dueAt = timeNow(deps, retryMs);
  const next = byDevice(waiting, places).map(
    (handles) =>
      newRelease(deps, { ...unfinishedPart(work), handles, retryAt: dueAt, retries }).release,
  );
  if (!(await takeTurn(deps, host, next))) {
    await deps.store.releases.postpone(work, timeNow(deps, nextSweepMs));
    return;
  }
  if (!(await deps.store.releases.replace(work, next, dueAt))) {
    for (const release of next) await endTurn(deps, host, release);
    return;
  }
  made.set(hostname, madeOfHost + 1);
  deps.log.info('Cleaning retried', {
    host: hostname,
    replaces: id,
    retries,
    reason,
    releases: next.map((release) => release.id),
    handles: waiting.length,
  });
}

/**
 * What the next releases have of the work. A failed program leaves nothing but the wait for its
 * end.
 */
function unfinishedPart(work: AwaitedWork): Omit<ReleasePlan, 'handles'> {
  const { hostname, requestId, quarantine } = work;
  const common = { hostname, leftAt: leftAtOf(work), ...present({ requestId, quarantine }) };
  if (work.kind === 'program') return common;
  const { bindId, reprovisionJob, isPart, cleanSeconds } = work;
  return {
    ...common,
    ...present({ cleanSeconds, bindId, reprovisionJob }),
    ...(isPart && { isPart }),
  };
}

/** A release for each device while there are places; one where a transaction takes no more. */
function byDevice(waiting: readonly WaitingHandle[], places: number): HandleRef[][] {
  const devices = [...Map.groupBy(waiting, ({ deviceUuid }) => deviceUuid).values()];
  const isTooLarge = devices.length + waiting.length > itemsPerReplacementMax;
  const count = isTooLarge ? 1 : Math.min(devices.length, places);
  const parts = Map.groupBy(devices.entries(), ([index]) => index % count);
  return [...parts.values()].map((part) =>
    part.flatMap(([, handles]) =>
      handles.map(({ providerUuid, handleUuid }) => ({ providerUuid, handleUuid })),
    ),
  );
}
