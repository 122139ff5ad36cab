// What a report changes, effect by effect. A delivery that dies before the host is stored is
// repeated from the first effect, so each of them may run twice.

import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { AcceptedReport } from '#core/contracts/report/inventory-report.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { derivedUuid } from '#core/domain/ids.ts';
import { forgetsCards } from '#core/domain/report/other-cards.ts';
import type { ReportPlan } from '#core/domain/report/report-plan.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { markHost } from '#core/operations/devices/hold-devices.ts';
import { putDevices, retireDevices } from '#core/operations/devices/put-devices.ts';
import { askHost } from '#core/operations/host-work/ask-host.ts';
import { drainLater } from '#core/operations/hosts/drain-host.ts';
import {
  changesNotOffered,
  countsAfter,
  keepSummary,
} from '#core/operations/hosts/keep-summary.ts';
import { takeBack } from '#core/operations/hosts/note-conflict.ts';
import { retryAfterReport, retryAfterReturn } from '#core/operations/release/quarantine.ts';
import { reprovisionHost } from '#core/operations/reprovision/reprovision-host.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import { answerCards } from './cards/answer-cards.ts';
import { cleanCards } from './cards/clean-cards.ts';
import { copyAttachTypes } from './copy-attach-types.ts';
import { hostAfter } from './host-after.ts';
import { logOutcome } from './log-outcome.ts';

/** The holder of the host's lease. */
export type LeaseDeps = ConsumerDeps & { readonly holder: string };

export interface PlannedReport {
  readonly report: AcceptedReport;
  readonly receivedAtMs: number;
  readonly plan: ReportPlan;
  /** Addresses of devices that are cleaned before they are offered. */
  readonly toClean: readonly string[];
  /** Attach types of the host from now on. */
  readonly types: StoredHost['attachTypes'];
  /** The host's rows before the report. A new boot is stored in them already. */
  readonly inventory: HostInventory;
}

type ReportEffect = (deps: LeaseDeps, planned: PlannedReport) => Promise<void> | void;

const leaseRetrySeconds = 1;

export function leaseTaken(hostname: string): RetryLater {
  return new RetryLater(`Another report of ${hostname} is being applied.`, leaseRetrySeconds);
}

/** Without these no report is applied. The report counts as applied once the host is stored. */
const untilStored: readonly ReportEffect[] = [
  // The next delivery would not see that the devices were gone.
  retryReturned,
  // The next delivery would not see which cards were there.
  rememberCards,
  storeDevices,
  (deps, { inventory }) => drainLater(deps, inventory.host),
  holdNewDevices,
  (deps, { plan }) => retireDevices(deps, plan.retire),
  (deps, { inventory, toClean }) => cleanCards(deps, inventory.host.hostname, toClean),
  (deps, { inventory, plan, types }) => copyAttachTypes(deps, inventory.devices, plan, types),
  storeNotOffered,
  (deps, { inventory }) => takeBack(deps, inventory.devices),
  reprovisionDescribed,
];

/** Follows from the host's row, which is the truth. A later report makes up for it. */
const afterStored: readonly ReportEffect[] = [
  storeSummary,
  (deps, { inventory, report, plan }) => logOutcome(deps, inventory.host.hostname, report, plan),
  retryReleases,
  (deps, { inventory, report }) => answerCards(deps, inventory.host, inventory.devices, report),
  askForLostPart,
];

/** @throws RetryLater where another consumer has taken the lease */
export async function applyPlanned(deps: LeaseDeps, planned: PlannedReport): Promise<void> {
  for (const effect of untilStored) await effect(deps, planned);
  const { inventory, plan, report, receivedAtMs } = planned;
  const host = hostAfter(deps, inventory.host, plan, report, receivedAtMs);
  if (!(await deps.store.inventory.putReport(host, deps.holder))) throw leaseTaken(host.hostname);
  await followStored(deps, { ...planned, inventory: { ...inventory, host } });
}

/** @param planned with the host's row as the report has left it */
export async function followStored(deps: LeaseDeps, planned: PlannedReport): Promise<void> {
  for (const effect of afterStored) await effect(deps, planned);
}

async function retryReturned(deps: LeaseDeps, { inventory, plan }: PlannedReport): Promise<void> {
  const isPut = new Set(plan.put.map(({ address }) => address));
  await retryAfterReturn(
    deps,
    inventory.devices.filter(({ address, isGone }) => isGone && isPut.has(address)),
  );
}

async function rememberCards(deps: LeaseDeps, { inventory, plan }: PlannedReport): Promise<void> {
  const { host, devices } = inventory;
  if (!forgetsCards(plan, devices)) return;
  const remembered = { ...host, refused: plan.refused };
  if (!(await deps.store.inventory.putReport(remembered, deps.holder))) {
    throw leaseTaken(host.hostname);
  }
}

async function storeDevices(deps: LeaseDeps, planned: PlannedReport): Promise<void> {
  const { inventory, plan, types } = planned;
  await putDevices(deps, inventory.host.hostname, inventory.devices, plan.put, types);
}

async function holdNewDevices(deps: LeaseDeps, { inventory, plan }: PlannedReport): Promise<void> {
  if (plan.put.length > 0) await markHost(deps, inventory.host.hostname);
}

async function storeNotOffered(deps: LeaseDeps, planned: PlannedReport): Promise<void> {
  const { inventory, plan, report } = planned;
  if (plan.standing !== 'newer' || !changesNotOffered(inventory, report)) return;
  await deps.store.inventory.putNotOffered(inventory.host.hostname, report.not_offered ?? []);
}

/** A hello says nothing of what the devices hold: the next report does. */
async function reprovisionDescribed(deps: LeaseDeps, planned: PlannedReport): Promise<void> {
  const { inventory, plan, report } = planned;
  if (!inventory.host.isReprovisioning || report.is_hello === true) return;
  const undescribed = new Set([...Object.keys(plan.wanted), ...plan.unseen]);
  await reprovisionHost(deps, inventory.host, undescribed);
}

async function storeSummary(deps: LeaseDeps, planned: PlannedReport): Promise<void> {
  const { inventory, plan, report } = planned;
  const notOffered = plan.standing === 'newer' ? report.not_offered : undefined;
  await keepSummary(deps, inventory, countsAfter(deps, inventory, plan, notOffered));
}

async function retryReleases(deps: LeaseDeps, planned: PlannedReport): Promise<void> {
  const { inventory, plan, report } = planned;
  if (plan.standing === 'newer') await retryAfterReport(deps, inventory, report);
}

/**
 * Asks the agent to report all devices: a part that the manifest names was lost on its way. Only a
 * part of a large report is followed by other parts; a heartbeat is not.
 */
async function askForLostPart(deps: LeaseDeps, planned: PlannedReport): Promise<void> {
  const { inventory, plan, report } = planned;
  if (report.devices.length > 0 || Object.keys(plan.wanted).length === 0) return;
  const { hostname } = inventory.host;
  const { boot_id: bootId, sequence } = report;
  const uuid = derivedUuid('rediscover', hostname, bootId, String(sequence));
  await askHost(deps, 'rediscover', { uuid, hostname, bootId }, {});
}
