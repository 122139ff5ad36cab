import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { jobId } from '#core/contracts/jobs/job-ids.ts';
import type { Caller } from '#core/domain/caller.ts';
import { deriveHostState, isReachable } from '#core/domain/host/host-state.ts';
import { derivedUuid } from '#core/domain/ids.ts';
import { HostUnreachable } from '#core/domain/operator-errors.ts';
import { findHost } from '#core/operations/hosts/find-host.ts';
import { askHost } from './ask-host.ts';

/**
 * Asks the host to report all its devices now.
 *
 * @returns the id of the job
 * @throws HostNotFound; HostUnreachable unless the host is online
 */
export async function rediscoverHost(
  deps: ConsumerDeps,
  caller: Caller,
  hostname: string,
): Promise<string> {
  const { host, summary } = await findHost(deps, hostname);
  const { state, since } = deriveHostState(host, summary ?? {}, deps.clock());
  const { bootId } = host;
  if (!isReachable(state) || bootId === undefined)
    throw new HostUnreachable(hostname, state, since);
  const { requestId } = caller;
  const uuid = derivedUuid('rediscover', hostname, bootId, requestId);
  await askHost(deps, 'rediscover', { uuid, hostname, bootId, requestId }, {});
  return jobId(deps.settings.stage, 'rediscover', uuid);
}
