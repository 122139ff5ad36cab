import type { Deps } from '../../deps.ts';
import type { Arq, InstanceBinding } from '../../domain/arq.ts';
import { InstanceAlreadyBound } from '../../domain/errors.ts';
import { releaseArqs } from '../release/release-arqs.ts';

/**
 * Releases what an instance still holds from a build that Nova has given up, so that the next bind
 * of it can go on. Nova only logs a failed delete of ARQs, and after a failed unshelve it deletes
 * none.
 *
 * The old binding is replaced only if no guest can be using its devices: Nova says that no host
 * has the instance. And only by ARQs that were created after it began: a PATCH that arrives late
 * must not undo the bind that came after it.
 *
 * @param arqs what is to be bound now
 * @throws InstanceAlreadyBound where the old binding may be in use
 */
export async function replaceBinding(
  deps: Deps,
  old: InstanceBinding,
  arqs: readonly Arq[],
): Promise<void> {
  const { instanceUuid } = old;
  if (!arqs.every(({ createdAt }) => createdAt > old.startedAt)) {
    throw new InstanceAlreadyBound(instanceUuid, old.hostname);
  }
  const server = await deps.clients.nova.server(instanceUuid);
  const isOnNoHost = server !== 'not-found' && server.host === null;
  if (!isOnNoHost) throw new InstanceAlreadyBound(instanceUuid, old.hostname);
  await releaseArqs(deps, instanceUuid, 'all', 'deleted', old);
  deps.log.warn('Binding replaced: Nova had left it behind.', {
    instance: instanceUuid,
    host: old.hostname,
    arqs: old.arqUuids,
    bind: old.bindId,
  });
}
