import { type ConsumerDeps, createConsumerDeps } from '#core/consumer-deps.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import { sweepHolds } from '#core/operations/devices/hold-devices.ts';
import { measureFleet } from '#core/operations/fleet/measure-fleet.ts';
import { reconcile } from '#core/operations/placement/reconcile.ts';
import { allHosts, lookAtTrees } from '#core/operations/placement/restore-tree.ts';
import { reap } from '#core/operations/release/reap/reap.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';

let deps: ConsumerDeps | undefined;

/**
 * Every minute → enforces deadlines, marks devices on hold, releases bindings of unused instances,
 * compares some hosts with Placement, looks at the trees of some hosts, measures the fleet, and
 * sums the usage of the last hours.
 * Each part runs even if an earlier part has failed.
 */
export async function handler(): Promise<void> {
  deps ??= createConsumerDeps('sweep');
  const own = deps;
  let read: Promise<HostSummary[]> | undefined;
  const hosts = () => {
    read ??= allHosts(own);
    return read;
  };
  await sweep(own)
    .finally(() => sweepHolds(own))
    .finally(() => reap(own))
    .finally(async () => reconcile(own, await hosts()))
    .finally(() => lookAtTrees(own, hosts))
    .finally(async () => measureFleet(own, await hosts()))
    .finally(() => own.store.usageSums.keepHours(own.clock()));
}
