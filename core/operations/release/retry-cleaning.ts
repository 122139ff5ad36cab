import type { ConsumerDeps } from '../../consumer-deps.ts';
import type { Deps } from '../../deps.ts';
import type { HostRelease } from '../../domain/arq.ts';
import { cleaningRetryMs } from '../../domain/deadlines.ts';
import type { DeviceUuid, ReleaseId } from '../../domain/ids.ts';
import { itemsPerReplacementMax } from '../../store/releases.ts';
import { askAboutJob, hasEnded, jobStatus } from '../host-work/ask-about-job.ts';
import { timeIn } from './quarantine.ts';

/** Jobs that one run of the sweep gives one host to clean up again. */
const retriesPerHost = 4;
const nextSweepMs = 60_000;
/** An operator ends a conflict of identity; until then there is nothing to ask. */
const conflictRetryMs = 5 * 60_000;

/**
 * Asks the host again to clean up what is in quarantine, by other releases in the place of this one: their
 * jobs have ids of their own, and what the earlier job still says changes nothing. Each device has a
 * release of its own, so that one that cannot be cleaned does not hold up the others.
 *
 * @param asked by host, how many jobs this run of the sweep has made
 */
export async function retryCleaning(
  deps: ConsumerDeps,
  release: HostRelease,
  asked: Map<string, number>,
): Promise<void> {
  const { hostname, retryAt, quarantine: reason = '' } = release;
  const now = deps.clock();
  // The index may still show the time before.
  if (retryAt === undefined || Date.parse(retryAt) > now) return;
  // Of two agents that report as one host, neither cleans up what the other may hold.
  const { conflict } = await deps.store.inventory.hostAlone(hostname);
  if (conflict) {
    await deps.store.releases.postpone(release, timeIn(deps, conflictRetryMs));
    return;
  }
  const count = asked.get(hostname) ?? 0;
  if (count >= retriesPerHost) {
    await deps.store.releases.postpone(release, timeIn(deps, nextSweepMs));
    return;
  }
  asked.set(hostname, count + 1);
  const retries = (release.retries ?? 0) + 1;
  const kind = release.program ? 'prog' : 'free';
  const status = await jobStatus(deps, kind, release.id, hostname);
  if (status === 'SUCCEEDED') {
    await askAboutJob(deps, kind, release.id, hostname);
    return;
  }
  // The host does the job when it is back.
  if (status !== undefined && !hasEnded(status)) {
    await deps.store.releases.postpone(release, timeIn(deps, cleaningRetryMs(retries)));
    return;
  }
  const waiting = await waitingHandles(deps, release);
  if (waiting.length === 0) return deps.store.releases.confirm(release);
  // What an operator wanted there has failed by now: the region is only to come to rest.
  const { program: _, ...base } = release;
  const dueAt = timeIn(deps, cleaningRetryMs(retries));
  const next = byDevice(waiting).map(
    (handles): HostRelease => ({
      ...base,
      id: deps.uuid() as ReleaseId,
      handles,
      startedAt: new Date(now).toISOString(),
      retryAt: dueAt,
      retries,
    }),
  );
  if (!(await deps.store.releases.replace(release, next, dueAt))) return;
  deps.log.info('Cleaning is tried again.', {
    ...{ host: hostname, replaces: release.id, retries, reason },
    releases: next.map(({ id }) => id),
    handles: waiting.length,
  });
}

type Handle = HostRelease['handles'][number];

interface WaitingHandle extends Handle {
  readonly deviceUuid: DeviceUuid;
}

/** All as one where the transaction would be too large. */
function byDevice(waiting: readonly WaitingHandle[]): Handle[][] {
  const devices = [...Map.groupBy(waiting, ({ deviceUuid }) => deviceUuid).values()];
  const parts = devices.length + waiting.length > itemsPerReplacementMax ? [waiting] : devices;
  return parts.map((handles) =>
    handles.map(({ providerUuid, handleUuid }) => ({ providerUuid, handleUuid })),
  );
}

async function waitingHandles(deps: Deps, release: HostRelease): Promise<WaitingHandle[]> {
  const waiting = await Promise.all(
    release.handles.map(async (each) => {
      const provider = await deps.store.inventory.provider(each.providerUuid);
      const handle = provider?.handles.find(({ uuid }) => uuid === each.handleUuid);
      if (!provider || handle?.release !== release.id) return [];
      return [{ ...each, deviceUuid: provider.deployable.deviceUuid }];
    }),
  );
  return waiting.flat();
}
