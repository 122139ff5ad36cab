import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { settlingSeconds } from '#core/domain/host/identity.ts';
import type { AwaitedWork } from '#core/domain/host-work/host-work.ts';
import { RetryLater } from '#core/domain/retry-later.ts';

/**
 * Whether the host must not be asked: while two agents report as the host, the answer of one says
 * nothing of the other. The deadline of the work puts the handles into quarantine then.
 *
 * @throws RetryLater while the agent from before the host's last boot may still be running
 */
export function mustWait(
  deps: ConsumerDeps,
  { kind, id, hostname }: AwaitedWork,
  host: StoredHost,
): boolean {
  if (host.conflict) {
    deps.log.warn('Job not created: host in conflict', { host: hostname, [kind]: id });
    return true;
  }
  const seconds = settlingSeconds(host, deps.clock());
  if (seconds === undefined) return false;
  throw new RetryLater(`Host ${hostname} has just booted.`, seconds);
}
