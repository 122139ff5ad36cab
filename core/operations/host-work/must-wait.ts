import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { settlingSeconds } from '#core/domain/host/identity.ts';
import { mistrustOf } from '#core/domain/host/trust.ts';
import type { AwaitedWork } from '#core/domain/host-work/host-work.ts';
import { RetryLater } from '#core/domain/retry-later.ts';

/**
 * Whether the host must not be asked: its answer would prove nothing. The deadline of the work
 * puts the handles into quarantine then.
 *
 * @throws RetryLater while the agent from before the host's last boot may still be running
 */
export function mustWait(
  deps: ConsumerDeps,
  { kind, id, hostname }: AwaitedWork,
  host: StoredHost,
): boolean {
  const mistrust = mistrustOf(host);
  if (mistrust) {
    deps.log.warn('Job not created: host not trusted', { host: hostname, mistrust, [kind]: id });
    return true;
  }
  const seconds = settlingSeconds(host, deps.clock());
  if (seconds === undefined) return false;
  throw new RetryLater(`Host ${hostname} has just booted.`, seconds);
}
