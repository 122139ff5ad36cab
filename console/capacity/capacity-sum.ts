// The capacity of several hosts together.

import type { HostCapacity } from '#console/api/answers.ts';

export interface CapacitySum {
  readonly fits: number;
  /** The most frequent reason first. */
  readonly stoppedBy: HostCapacity['stopped_by'];
  /** The sweep has measured the hosts since then; they were read now without it. */
  readonly measuredAt?: string;
}

export function capacitySum(hosts: readonly HostCapacity[]): CapacitySum {
  const counts = new Map<HostCapacity['stopped_by'][number]['reason'], number>();
  for (const { reason, count } of hosts.flatMap((host) => host.stopped_by)) {
    counts.set(reason, (counts.get(reason) ?? 0) + count);
  }
  const stoppedBy = [...counts].map(([reason, count]) => ({ reason, count }));
  return {
    fits: hosts.reduce((sum, host) => sum + host.fits, 0),
    stoppedBy: stoppedBy.sort((one, other) => other.count - one.count),
  };
}
