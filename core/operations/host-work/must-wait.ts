import type { ConsumerDeps } from '../../consumer-deps.ts';
import type { AwaitedWork } from '../../domain/host-work.ts';
import { isSettling, settlingMs } from '../../domain/identity.ts';
import type { StoredHost } from '../../domain/report-plan.ts';
import { RetryLater } from '../../domain/retry-later.ts';

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
    deps.log.warn('No job created: host in conflict.', { host: hostname, [kind]: id });
    return true;
  }
  if (!isSettling(host, deps.clock())) return false;
  throw new RetryLater(`Host ${hostname} has just booted.`, settlingMs / 1000);
}
