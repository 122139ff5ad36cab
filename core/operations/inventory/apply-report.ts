import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { AcceptedReport } from '#core/contracts/report/inventory-report.ts';
import type { Deps } from '#core/deps.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { type BootReport, replacedBoots, settlingSeconds } from '#core/domain/host/identity.ts';
import { waitMs } from '#core/domain/host/pace.ts';
import { derivedUuid } from '#core/domain/ids.ts';
import { forgetsCards } from '#core/domain/report/other-cards.ts';
import { changesNothing, type ReportPlan } from '#core/domain/report/report-plan.ts';
import { withholdRecovered } from '#core/domain/report/withhold-recovered.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { markHost } from '#core/operations/devices/hold-devices.ts';
import { putDevices, retireDevices } from '#core/operations/devices/put-devices.ts';
import { askHost } from '#core/operations/host-work/ask-host.ts';
import { drainLater, lacksDrain } from '#core/operations/hosts/drain-host.ts';
import {
  changesNotOffered,
  countsAfter,
  keepSummary,
} from '#core/operations/hosts/keep-summary.ts';
import { beginConflict, noteSighting, takeBack } from '#core/operations/hosts/note-conflict.ts';
import { retryAfterReport, retryAfterReturn } from '#core/operations/release/quarantine.ts';
import { reprovisionHost } from '#core/operations/reprovision/reprovision-host.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import { timeNow } from '../time-now.ts';
import { answerCards } from './answer-cards.ts';
import { cleanCards } from './clean-cards.ts';
import { compareDevices } from './compare-devices.ts';
import { copyAttachTypes, hasOtherTypes, typesAfter } from './copy-attach-types.ts';
import { hostAfter } from './host-after.ts';
import { logOutcome } from './log-outcome.ts';
import { planFor, withExcess } from './plan-report.ts';
import { withholdUnclean } from './withhold-unclean.ts';

/** The holder of the host's lease. */
type LeaseDeps = ConsumerDeps & { readonly holder: string };

/**
 * Longer than the consumer's timeout: a consumer that outlives its lease could undo later writes.
 */
const leaseSeconds = 90;
const leaseRetrySeconds = 1;

/**
 * Makes the stored inventory of one host what it reports. Each write is repeatable, and the report
 * counts as applied only when all are done. So the next delivery completes one that died half-way.
 *
 * @param hostname from the topic, not from the report
 * @param cached of the host, as read just before
 * @throws RetryLater while another consumer works on the same host
 */
export async function applyReport(
  deps: ConsumerDeps,
  hostname: string,
  received: AcceptedReport,
  receivedAtMs: number,
  cached?: StoredHost,
): Promise<void> {
  const report = withExcess(received, hostname, deps.settings);
  if (cached && isOvertaken(planFor(deps, cached, [], report, receivedAtMs))) return;
  const holder = deps.uuid();
  const leaseDeps = { ...deps, holder };
  const isOfBoot = cached === undefined || cached.bootId === report.boot_id;
  if (isOfBoot && (await noteUnchanged(leaseDeps, hostname, report, receivedAtMs))) return;
  const until = timeNow(deps, leaseSeconds * 1000);
  if (!(await deps.store.inventory.takeLease(hostname, holder, timeNow(deps), until))) {
    throw leaseTaken(hostname);
  }
  try {
    await applyUnderLease(leaseDeps, hostname, report, receivedAtMs);
  } finally {
    await deps.store.inventory.endLease(hostname, holder);
  }
}

/** Whether the report is dropped: AWS IoT takes minutes to end the connection of its host. */
export function ofRevoked({ log }: Deps, { hostname, revokedAt }: StoredHost): boolean {
  if (revokedAt === undefined) return false;
  log.warn('Report of a revoked host ignored', { host: hostname, revokedAt });
  return true;
}

/** @throws RetryLater where the host reports too often */
export function checkPace(deps: Deps, { hostname, pace }: StoredHost): void {
  const ms = waitMs(pace, deps.clock());
  if (ms > 0) throw new RetryLater(`Host ${hostname} reports too often.`, Math.ceil(ms / 1000));
}

/** A newer report was applied, and it described all devices of this one. */
function isOvertaken({ standing, put, retire }: ReportPlan): boolean {
  return standing === 'late' && put.length === 0 && retire.length === 0;
}

/**
 * A report that changes nothing needs no lease: a heartbeat, or the hourly one. One write stores
 * it, on the condition that the lease still has the holder that was read: another consumer at work
 * would have changed the holder.
 *
 * @returns false where there is more to do, or another consumer is at work
 */
async function noteUnchanged(
  deps: LeaseDeps,
  hostname: string,
  report: AcceptedReport,
  receivedAtMs: number,
): Promise<boolean> {
  const inventory = await deps.store.inventory.host(hostname);
  const { host, devices, holder, leasedUntil } = inventory;
  if (ofRevoked(deps, host)) return true;
  const plan = planFor(deps, host, devices, report, receivedAtMs);
  if (isOvertaken(plan)) return true;
  if (host.conflict) {
    await noteSighting(deps, inventory, toBootReport(report, receivedAtMs));
    return true;
  }
  checkPace(deps, host);
  const isAtWork = leasedUntil !== undefined && leasedUntil >= timeNow(deps);
  const isOther =
    changesNotOffered(inventory, report) ||
    hasOtherTypes(devices, typesAfter(deps, report, host)) ||
    lacksDrain(host, devices) ||
    devices.some(({ conflictSince }) => conflictSince !== undefined);
  if (!changesNothing(host, plan) || isOther || holder === undefined || isAtWork) return false;
  const applied = hostAfter(deps, host, plan, report, receivedAtMs);
  // Not the name under which this consumer may take the lease: a write that looks refused may have
  // been done, and a report that was read after it must not pass then.
  if (!(await deps.store.inventory.putReport(applied, holder, deps.uuid()))) return false;
  await keep(deps, { ...inventory, host: applied }, plan, report);
  logOutcome(deps, hostname, report, plan);
  await retryAfterReport(deps, { host, devices }, report);
  await answerCards(deps, applied, devices, report);
  return true;
}

export function leaseTaken(hostname: string): RetryLater {
  return new RetryLater(`Another report of ${hostname} is being applied.`, leaseRetrySeconds);
}

async function applyUnderLease(
  deps: LeaseDeps,
  hostname: string,
  report: AcceptedReport,
  receivedAtMs: number,
): Promise<void> {
  const inventory = await deps.store.inventory.host(hostname);
  const { host: stored, devices } = inventory;
  const bounded = planFor(deps, stored, devices, report, receivedAtMs);
  const settled = withholdRecovered(bounded, devices, receivedAtMs);
  const { plan: clean, toClean } = await withholdUnclean(deps, hostname, settled, devices);
  const plan = await compareDevices(deps, clean, devices);
  const bootReport = toBootReport(report, receivedAtMs);
  if (stored.conflict) return noteSighting(deps, inventory, bootReport);
  if (plan.standing === 'conflict') {
    if (!(await beginConflict(deps, inventory, bootReport))) throw leaseTaken(hostname);
    return;
  }
  const isNewBoot = plan.isNewBoot && plan.standing === 'newer';
  const read = isNewBoot ? await noteBoot(deps, inventory, report, receivedAtMs) : inventory;
  const { host } = read;
  // A late report is no proof of the boot: the boot's own report may not be stored yet.
  if (isOvertaken(plan)) return;
  const seconds = host.isReprovisioning ? settlingSeconds(host, deps.clock()) : undefined;
  if (seconds !== undefined) throw new RetryLater(`Host ${hostname} has just booted.`, seconds);
  const types = plan.standing === 'newer' ? typesAfter(deps, report, stored) : stored.attachTypes;
  const isPut = new Set(plan.put.map(({ address }) => address));
  const returned = devices.filter(({ address, isGone }) => isGone && isPut.has(address));
  // Before the devices are stored: the next delivery would not see that they were gone.
  await retryAfterReturn(deps, returned);
  const remembered = { ...host, refused: plan.refused };
  if (
    forgetsCards(plan, devices) &&
    !(await deps.store.inventory.putReport(remembered, deps.holder))
  )
    throw leaseTaken(hostname);
  await putDevices(deps, hostname, devices, plan.put, types);
  await drainLater(deps, host);
  if (plan.put.length > 0) await markHost(deps, hostname);
  await retireDevices(deps, plan.retire);
  await cleanCards(deps, hostname, toClean);
  await copyAttachTypes(deps, devices, plan, types);
  if (plan.standing === 'newer' && changesNotOffered(inventory, report)) {
    await deps.store.inventory.putNotOffered(hostname, report.not_offered ?? []);
  }
  await takeBack(deps, devices);
  const undescribed = new Set([...Object.keys(plan.wanted), ...plan.unseen]);
  // A hello says nothing of what the devices hold: the next report does.
  const isDescribed = host.isReprovisioning && report.is_hello !== true;
  if (isDescribed) await reprovisionHost(deps, host, undescribed);
  const applied = hostAfter(deps, host, plan, report, receivedAtMs);
  if (!(await deps.store.inventory.putReport(applied, deps.holder))) throw leaseTaken(hostname);
  await keep(deps, { ...read, host: applied }, plan, report);
  logOutcome(deps, hostname, report, plan);
  if (plan.standing === 'newer') await retryAfterReport(deps, { host, devices }, report);
  await answerCards(deps, applied, devices, report);
  // Only a part of a large report is followed by other parts; a heartbeat is not.
  const lacksPart = report.devices.length === 0 && Object.keys(plan.wanted).length > 0;
  if (lacksPart) await askForReport(deps, hostname, report);
}

/** After the host's row, which is the truth. */
async function keep(
  deps: Deps,
  inventory: HostInventory,
  plan: ReportPlan,
  report: AcceptedReport,
): Promise<void> {
  const notOffered = plan.standing === 'newer' ? report.not_offered : undefined;
  await keepSummary(deps, inventory, countsAfter(deps, inventory, plan, notOffered));
}

function toBootReport(report: AcceptedReport, receivedAtMs: number): BootReport {
  return { bootId: report.boot_id, sequence: report.sequence, receivedAtMs };
}

/**
 * Stores the boot before anything follows from it: jobs from now on are for this boot, and the
 * host is reprovisioned even if this consumer dies.
 */
async function noteBoot(
  deps: LeaseDeps,
  inventory: HostInventory,
  report: AcceptedReport,
  receivedAtMs: number,
): Promise<HostInventory> {
  const { host: stored, devices } = inventory;
  const counts = countsAfter(deps, inventory);
  // Each boot is a change of the summary, also one whose consumer has died.
  const summary = stored.bootId ? await keepSummary(deps, inventory, counts) : inventory.summary;
  const host: StoredHost = {
    ...stored,
    bootId: report.boot_id,
    epoch: stored.epoch + 1,
    // One less, so that this report is still newer when it is delivered again.
    sequence: report.sequence - 1,
    lastReceivedAtMs: receivedAtMs,
    lastReportAt: new Date(receivedAtMs).toISOString(),
    bootedAt: timeNow(deps),
    earlierBoots: replacedBoots(stored, toBootReport(report, receivedAtMs)),
    // A host that is new has made nothing that its boot could have ended.
    isReprovisioning: stored.bootId !== undefined || devices.length > 0,
    // Devices that a report of an earlier boot named may be gone.
    wanted: {},
  };
  if (!(await deps.store.inventory.putBoot(host, deps.holder))) throw leaseTaken(stored.hostname);
  const kept = await keepSummary(deps, present({ host, summary }), counts);
  return { ...inventory, ...present({ host, summary: kept }) };
}

/** Asks the agent to report all devices: a part that the manifest names was lost on its way. */
async function askForReport(
  deps: ConsumerDeps,
  hostname: string,
  report: AcceptedReport,
): Promise<void> {
  const { boot_id: bootId, sequence } = report;
  const uuid = derivedUuid('rediscover', hostname, bootId, String(sequence));
  await askHost(deps, 'rediscover', { uuid, hostname, bootId }, {});
}
