import type { NovaDeps } from '#core/deps.ts';
import type { BindTarget } from '#core/domain/arq/bind-plan.ts';
import { type Caller, userActor } from '#core/domain/caller.ts';
import { ArqNotFound, DomainError, Forbidden } from '#core/domain/errors.ts';
import { type HistoryRecord, partitionsFor } from '#core/domain/history/history.ts';
import { derivedUuid } from '#core/domain/ids.ts';
import { timeNow } from '#core/operations/time-now.ts';

/**
 * Adds a refused bind to the history as a failed one: it has changed no row, so no stream has it,
 * and the server is in ERROR with nothing else that says why. A record that cannot be stored is
 * logged, and the answer stays.
 */
export async function noteRefusal(
  deps: NovaDeps,
  caller: Caller,
  targets: readonly BindTarget[],
  error: unknown,
): Promise<void> {
  const [first] = targets;
  if (!deps.callHistory || !first || !(error instanceof DomainError)) return;
  // Tenants must not fill the history; their own calls are recorded up to a bound.
  if (!caller.hasServiceToken) return;
  // The caller is wrong, not the cloud.
  if (error instanceof ArqNotFound || error instanceof Forbidden) return;
  const { callHistory: history } = deps;
  const { requestId, projectId } = caller;
  const record: HistoryRecord = {
    id: derivedUuid('refused bind', requestId),
    at: timeNow(deps),
    kind: 'bind.failed',
    from: 'Initial',
    to: 'Initial',
    instanceUuid: first.instanceUuid,
    hostname: first.hostname,
    arqUuids: targets.map(({ arqUuid }) => arqUuid),
    projectId,
    requestId,
    by: userActor(caller),
    reason: error.message,
  };
  try {
    const partitions = partitionsFor(record);
    await Promise.all(partitions.map((partition) => history.add(record, partition)));
  } catch (failure) {
    deps.log.error('Refused bind not stored', { record, error: failure });
  }
}
