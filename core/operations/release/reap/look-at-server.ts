import { ServiceUnavailable } from '#core/clients/http.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { NovaEventMessage } from '#core/contracts/queues/queue-messages.ts';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import { neverBuiltMax, neverBuiltMs } from '#core/domain/arq/reaper.ts';
import { novaWaitsSeconds } from '#core/domain/host-work/deadlines.ts';
import { backoffSeconds, RetryLater } from '#core/domain/retry-later.ts';
import { boundArqs } from '#core/operations/host-work/bound-arqs.ts';
import { timeNow } from '#core/operations/time-now.ts';
import { noteUsed, releaseUnused, seesServersOfOthers } from './reap.ts';
import { reasonToKeep, serverState } from './reason-to-keep.ts';

const againSecondsMax = 15;

/**
 * Looks at the server of a bind until a host has it. Nova deletes no ARQs of a server that it
 * deletes before a host has taken it, and its bind may come after its delete. While Nova answers
 * 404 for the server and Placement has no allocation of it, Placement reserves its units, so that
 * no other server is scheduled to them. Releases the ARQs at a second look, a minute later.
 *
 * The message may come late or be lost. After some minutes the reaper goes on, see reap.ts.
 *
 * @param attempt which delivery of the message this is, from 1
 * @throws RetryLater while another look must follow
 */
export async function lookAtServer(
  deps: ConsumerDeps,
  message: NovaEventMessage,
  attempt: number,
): Promise<void> {
  const binding = await deps.store.arqs.binding(message.instance_uuid);
  // A failed bind holds no device.
  if (binding?.bindId !== message.bind_id || binding.state === 'BindFailed') return;
  const since = Date.parse(binding.unusedSince ?? binding.startedAt);
  if (deps.clock() - since > novaWaitsSeconds * 1000) return;
  try {
    await look(deps, binding, backoffSeconds(attempt, againSecondsMax));
  } catch (error) {
    if (!(error instanceof ServiceUnavailable)) throw error;
    deps.log.warn('Server not looked at yet', { error: error.message, attempt });
    throw new RetryLater(error.message, backoffSeconds(attempt, againSecondsMax));
  }
}

async function look(
  deps: ConsumerDeps,
  binding: InstanceBinding,
  soonSeconds: number,
): Promise<void> {
  const { instanceUuid, reservedProviders, unusedSince, wasBuilt } = binding;
  const state = await serverState(deps, instanceUuid);
  const keep = state === 'absent' ? await reasonToKeep(deps, binding) : 'Nova has the server.';
  if (keep) {
    if (reservedProviders) await noteUsed(deps, binding);
    if (state === 'on-host') return;
    throw new RetryLater('No host has the server yet.', soonSeconds);
  }
  // The walk of the reaper has noted it as built: no host had it at any look of this message.
  if (!reservedProviders || !unusedSince || wasBuilt) {
    const now = timeNow(deps);
    const arqs = await boundArqs(deps, binding);
    const isNoted = await deps.store.reaper.reserve(binding, arqs, now, false);
    if (!isNoted) throw new RetryLater('The binding has just changed.', soonSeconds);
    deps.log.warn('Bound server does not exist', { instance: instanceUuid });
    throw new RetryLater('The server does not exist: look again.', neverBuiltMs / 1000);
  }
  const leftMs = Date.parse(unusedSince) + neverBuiltMs - deps.clock();
  if (leftMs > 0) throw new RetryLater('The server does not exist: look again.', leftMs / 1000);
  await releaseNeverBuilt(deps, binding);
}

async function releaseNeverBuilt(deps: ConsumerDeps, binding: InstanceBinding): Promise<void> {
  if (!(await seesServersOfOthers(deps))) {
    throw new RetryLater('Nova shows no server of another project.', againSecondsMax);
  }
  if (!(await deps.store.reaper.countRelease(deps.clock(), neverBuiltMax))) {
    deps.metrics.put([{ name: 'ReaperRefused', dimension: 'too-many', value: 1 }]);
    throw new RetryLater('Many servers were deleted during their builds.', againSecondsMax);
  }
  await releaseUnused(deps, binding);
}
