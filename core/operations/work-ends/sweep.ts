import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import { failedBindKeptMs } from '#core/domain/host-work/deadlines.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import { recount } from '#core/operations/quotas/recount.ts';
import { releaseArqs } from '#core/operations/release/release-arqs.ts';
import type { DueKind } from '#core/store/rows/shards.ts';
import { timeNow } from '../time-now.ts';
import { expireWork } from './expire-work.ts';

/** After this time the sweep reads no other page: its next run is a minute away. */
const beginsWithinMs = 40_000;

/**
 * Enforces deadlines; everything else follows from the streams. The index may lag: each entry
 * below reads the row or has a condition on it, so that what has ended meanwhile stays as it is.
 *
 * @throws the first fault, when everything else has been done
 */
export async function sweep(deps: ConsumerDeps): Promise<void> {
  const now = timeNow(deps);
  const faults: unknown[] = [];
  // Nova waits for binds, and the next claim for releases and programs; unbound ARQs and quotas
  // can wait.
  for (const kind of ['binding', 'awaited', 'arq', 'quota'] as const) {
    await sweepKind(deps, kind, now, faults);
  }
  if (faults.length > 0) throw faults[0];
}

async function sweepKind(
  deps: ConsumerDeps,
  kind: DueKind,
  now: string,
  faults: unknown[],
): Promise<void> {
  const startedAt = deps.clock();
  const seen = new Set<string>();
  const made = new Map<string, number>();
  while (deps.clock() - startedAt < beginsWithinMs) {
    const overdue = await deps.listings.overdue(kind, now);
    for (const error of overdue.faults) {
      faults.push(error);
      deps.log.error('Deadlines not read', { kind, error });
    }
    const unseen = overdue.uuids.filter((uuid) => !seen.has(uuid));
    if (unseen.length === 0) return;
    for (const uuid of unseen) {
      seen.add(uuid);
      try {
        await end[kind](deps, uuid, made);
      } catch (error) {
        faults.push(error);
        deps.log.error('Deadline not enforced', { kind, uuid, error });
      }
    }
  }
}

/** @param made how often this run had a host clean up again */
type End = (deps: ConsumerDeps, uuid: string, made: Map<string, number>) => Promise<void>;

const end: Readonly<Record<DueKind, End>> = {
  async arq(deps, uuid) {
    if (await deps.store.arqs.deleteUnbound(uuid as ArqUuid)) {
      deps.log.info('Unbound ARQ deleted', { arq: uuid });
    }
  },

  async binding(deps, instanceUuid, made) {
    const binding = await deps.store.arqs.binding(instanceUuid);
    if (binding?.state === 'BindStarted') await expireWork.bind(deps, binding, made);
    if (binding?.state === 'provisioning') await expireWork.reprovision(deps, binding, made);
    if (binding?.state === 'BindFailed') await forgetFailedBind(deps, binding);
  },

  async awaited(deps, id, made) {
    const work = await deps.store.releases.awaited(id);
    if (work?.kind === 'release') await expireWork.release(deps, work, made);
    if (work?.kind === 'program') await expireWork.program(deps, work, made);
  },

  async quota(deps, projectId) {
    await recount(deps, projectId);
  },
};

/**
 * Deletes the ARQs of a bind that failed. They hold no device, and Nova deletes them within
 * minutes, unless the delete does not reach the API. The ARQs of a server that lost its device by
 * a reboot of its host are kept: a host has that server, and its ARQs say why it has no device.
 */
async function forgetFailedBind(deps: ConsumerDeps, binding: InstanceBinding): Promise<void> {
  const now = deps.clock();
  const failedMs = Date.parse(binding.resolvedAt ?? binding.startedAt);
  if (now - failedMs < failedBindKeptMs) return;
  const server = await deps.clients.nova.server(binding.instanceUuid);
  if (server !== 'not-found' && server.host !== null) {
    await deps.store.bindings.postpone(binding, new Date(now + failedBindKeptMs).toISOString());
    return;
  }
  await releaseArqs(deps, binding.instanceUuid, 'all', 'deleted', binding);
  deps.log.info('ARQs of a failed bind deleted', {
    instance: binding.instanceUuid,
    arqs: binding.arqUuids,
  });
}
