import type { NovaDeps } from '#core/deps.ts';
import type { Arq, InstanceBinding } from '#core/domain/arq/arq.ts';
import { InstanceAlreadyBound } from '#core/domain/errors.ts';
import { releaseArqs } from '#core/operations/release/release-arqs.ts';

/**
 * Releases the binding that an instance still has from a build that Nova has given up, so that the
 * next bind of the instance can go on. Nova only logs a failed delete of ARQs, and after a failed
 * unshelve it deletes none.
 *
 * The old binding is replaced only if no guest can be using its devices: Nova says that no host
 * has the instance. The new ARQs must be younger than the old binding: a late PATCH must not undo
 * a later bind.
 *
 * @param projectId of the new bind: the instance must be of this project
 * @param arqs the ARQs to be bound
 * @throws InstanceAlreadyBound where the old binding may be in use
 */
export async function replaceBinding(
  deps: NovaDeps,
  old: InstanceBinding,
  projectId: string,
  arqs: readonly Arq[],
): Promise<void> {
  const { instanceUuid } = old;
  if (!arqs.every(({ createdAt }) => createdAt > old.startedAt)) {
    throw new InstanceAlreadyBound(instanceUuid, old.hostname);
  }
  const server = await deps.clients.nova.server(instanceUuid);
  const isOnNoHost = server !== 'not-found' && server.host === null;
  if (!isOnNoHost || server.projectId !== projectId)
    throw new InstanceAlreadyBound(instanceUuid, old.hostname);
  await releaseArqs(deps, instanceUuid, 'all', 'deleted', old);
  deps.log.warn('Binding replaced: Nova had left it behind', {
    instance: instanceUuid,
    host: old.hostname,
    arqs: old.arqUuids,
    bind: old.bindId,
  });
}
