import type { Deps } from '../deps.ts';
import type { ArqUuid } from '../domain/ids.ts';
import type { Overdue } from '../store/listings.ts';
import { releaseDeadlineSeconds } from './cleaning.ts';
import { failBind } from './finish-bind.ts';

/**
 * Enforces deadlines; everything else follows from the streams. The index may lag: each of these reads
 * or conditions on the row itself, so that what has ended meanwhile stays as it is.
 */
export async function sweep(deps: Deps): Promise<void> {
  const now = new Date(deps.clock()).toISOString();
  for (const overdue of await deps.listings.overdue(now)) {
    await end[overdue.kind](deps, overdue.uuid);
  }
}

const end: Readonly<Record<Overdue['kind'], (deps: Deps, uuid: string) => Promise<void>>> = {
  async arq(deps, uuid) {
    if (await deps.store.arqs.deleteUnbound(uuid as ArqUuid)) {
      deps.log.info('Deleted an ARQ that was never bound.', { arq: uuid });
    }
  },

  async binding(deps, instanceUuid) {
    const binding = await deps.store.arqs.binding(instanceUuid);
    if (binding?.state !== 'BindStarted') return;
    const waitedMs = deps.clock() - Date.parse(binding.startedAt);
    if (waitedMs < deps.settings.bindDeadlineSeconds * 1000) return;
    const { bindDeadlineSeconds } = deps.settings;
    const reason = `Host ${binding.hostname} did not make it ready within ${bindDeadlineSeconds} s.`;
    await failBind(deps, binding, reason);
  },

  async release(deps, releaseId) {
    const release = await deps.store.releases.byId(releaseId);
    if (!release || release.quarantine) return;
    const reason = `Host ${release.hostname} did not confirm within ${releaseDeadlineSeconds} s.`;
    await deps.store.releases.quarantine(release, reason);
    deps.log.error('Handles are in quarantine.', {
      host: release.hostname,
      release: releaseId,
      handles: release.handles.length,
    });
  },
};
