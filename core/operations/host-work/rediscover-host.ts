import type { ConsumerDeps } from '../../consumer-deps.ts';
import { jobId } from '../../contracts/job-ids.ts';
import type { Caller } from '../../domain/caller.ts';
import { hostStateOf, isReachable } from '../../domain/host-state.ts';
import { derivedUuid } from '../../domain/ids.ts';
import { HostUnreachable } from '../../domain/operator-errors.ts';
import { findHost } from '../inventory/find-host.ts';
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
  const { state, since } = hostStateOf(host, summary ?? {}, deps.clock());
  const { bootId } = host;
  if (!isReachable(state) || bootId === undefined)
    throw new HostUnreachable(hostname, state, since);
  const { requestId } = caller;
  const uuid = derivedUuid('rediscover', hostname, bootId, requestId);
  await askHost(deps, 'rediscover', { uuid, hostname, bootId, requestId }, {});
  return jobId(deps.settings.stage, 'rediscover', uuid);
}
