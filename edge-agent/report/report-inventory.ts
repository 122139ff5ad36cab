// Discovers, compares with the acknowledged devices, and reports the differences.

import type { Clock } from '#agent/clock.ts';
import type { Skew } from '#agent/cloud-clock.ts';
import type { Log } from '#agent/log.ts';
import type { Sequence } from '#agent/state/sequence.ts';
import { agentVersion } from '#agent/version.ts';
import type { InventoryReport } from '#core/contracts/report/inventory-report.ts';
import { inventoryTopic } from '#core/contracts/topics.ts';
import type { AttachType } from '#core/shapes/attach-handle.ts';
import { present } from '#core/shapes/derive/present.ts';
import { type Acknowledged, acknowledge, composeReport } from './compose-report.ts';
import type { Found } from './discover.ts';

export interface ReportDeps {
  readonly stage: string;
  readonly thing: string;
  readonly bootId: string;
  /** What the hypervisor takes, from the settings. */
  readonly attachTypes?: readonly AttachType[] | undefined;
  readonly discover: () => Promise<Found>;
  /** What fails together with other hosts, from the settings. */
  readonly failureDomain?: string | undefined;
  /** Whether the control plane must say which cards were offered before. */
  readonly asksCards?: () => boolean;
  /** The skew of the host's clock, if it is known. */
  readonly skew?: () => Skew | undefined;
  readonly sequence: Sequence;
  readonly clock: Clock;
  readonly log: Log;
}

type HelloDeps = Omit<ReportDeps, 'discover' | 'clock'>;

/**
 * Reports this boot before the drivers are asked, which may take long. Until they have
 * answered, what the host had prepared may be missing.
 */
export async function reportHello(
  deps: HelloDeps,
  drivers: readonly string[],
  publish: Publish,
): Promise<void> {
  const { stage, thing, bootId, sequence, log } = deps;
  const report: InventoryReport = {
    version: 1,
    agent_version: agentVersion,
    boot_id: bootId,
    sequence: await sequence.next(),
    manifest: {},
    failed_drivers: [...drivers],
    is_hello: true,
    ...aboutHost(deps),
    devices: [],
  };
  await publish(inventoryTopic(stage, thing), JSON.stringify(report));
  log.info('Boot reported', { sequence: report.sequence, boot_id: bootId });
}

/** What each report has. */
function aboutHost({ attachTypes, failureDomain, asksCards }: HelloDeps) {
  return {
    ...(attachTypes && { attach_types: [...attachTypes] }),
    ...present({ failure_domain: failureDomain }),
    ...(asksCards?.() && { asks_cards: true as const }),
  };
}

/** Resolves once the broker has acknowledged. */
type Publish = (topic: string, payload: string) => Promise<void>;

interface Reported {
  readonly acknowledged: Acknowledged;
  /** Why no report could be sent; the last report stays valid. */
  readonly problem?: string;
}

/**
 * Returns what is acknowledged. Throws when the connection is lost; a partial acknowledgement
 * does not matter then, since the next session starts with a full report.
 */
export async function reportInventory(
  deps: ReportDeps,
  publish: Publish,
  before: Acknowledged,
): Promise<Reported> {
  const discovery = await deps.discover();
  const plan = composeReport(discovery, before, deps.clock.monotonicMs());
  if (plan.oversized.length > 0) {
    deps.log.error('Devices too large to report', { addresses: plan.oversized });
  }
  if (plan.isTooLarge) {
    const problem = `The host has ${discovery.devices.length} devices, more than fit into one report.`;
    deps.log.error(problem);
    return { acknowledged: before, problem };
  }
  let acknowledged = before;
  for (const [part, devices] of plan.parts.entries()) {
    const skew = deps.skew?.();
    const report: InventoryReport = {
      version: 1,
      agent_version: agentVersion,
      boot_id: deps.bootId,
      sequence: await deps.sequence.next(),
      manifest: plan.manifest,
      failed_drivers: [...plan.failedDrivers],
      not_offered: [...plan.notOffered],
      nova_versions: [...plan.novaVersions],
      ...aboutHost(deps),
      ...(skew && { clock: { ahead_ms: skew.aheadMs, within_ms: skew.withinMs } }),
      devices: [...devices],
    };
    await publish(inventoryTopic(deps.stage, deps.thing), JSON.stringify(report));
    acknowledged = acknowledge(acknowledged, plan, part, deps.clock.monotonicMs());
    deps.log.info('Inventory reported', {
      reason: plan.reason,
      sequence: report.sequence,
      devices: Object.keys(plan.manifest).length,
      described: devices.length,
      failed_drivers: plan.failedDrivers,
    });
  }
  return { acknowledged };
}
