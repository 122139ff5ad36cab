import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { AcceptedReport } from '#core/contracts/report/inventory-report.ts';
import type { Deps } from '#core/deps.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { settlingSeconds } from '#core/domain/host/identity.ts';
import { waitMs } from '#core/domain/host/pace.ts';
import { changesNothing, type ReportPlan } from '#core/domain/report/report-plan.ts';
import { withholdRecovered } from '#core/domain/report/withhold-recovered.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { lacksDrain } from '#core/operations/hosts/drain-host.ts';
import { changesNotOffered } from '#core/operations/hosts/keep-summary.ts';
import { beginConflict, noteSighting } from '#core/operations/hosts/note-conflict.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import { timeNow } from '../time-now.ts';
import { withholdUnclean } from './cards/withhold-unclean.ts';
import { compareDevices } from './compare-devices.ts';
import { hasOtherTypes, typesAfter } from './copy-attach-types.ts';
import { hostAfter } from './host-after.ts';
import { noteBoot, toBootReport } from './note-boot.ts';
import { planFor, withExcess } from './plan-report.ts';
import { applyPlanned, followStored, type LeaseDeps, leaseTaken } from './report-effects.ts';

/**
 * Longer than the consumer's timeout: a consumer that outlives its lease could undo later writes.
 */
const leaseSeconds = 90;

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
  const types = typesAfter(deps, report, host);
  const isAtWork = leasedUntil !== undefined && leasedUntil >= timeNow(deps);
  const isOther =
    changesNotOffered(inventory, report) ||
    hasOtherTypes(devices, types) ||
    lacksDrain(host, devices) ||
    devices.some(({ conflictSince }) => conflictSince !== undefined);
  if (!changesNothing(host, plan) || isOther || holder === undefined || isAtWork) return false;
  const applied = hostAfter(deps, host, plan, report, receivedAtMs);
  // Not the name under which this consumer may take the lease: a write that looks refused may have
  // been done, and a report that was read after it must not pass then.
  if (!(await deps.store.inventory.putReport(applied, holder, deps.uuid()))) return false;
  const after = { ...inventory, host: applied };
  await followStored(deps, { report, receivedAtMs, plan, toClean: [], types, inventory: after });
  return true;
}

async function applyUnderLease(
  deps: LeaseDeps,
  hostname: string,
  report: AcceptedReport,
  receivedAtMs: number,
): Promise<void> {
  const before = await deps.store.inventory.host(hostname);
  const { plan, toClean } = await planOf(deps, before, report, receivedAtMs);
  if (await isInConflict(deps, before, plan, report, receivedAtMs)) return;
  const isNewBoot = plan.isNewBoot && plan.standing === 'newer';
  const inventory = isNewBoot ? await noteBoot(deps, before, report, receivedAtMs) : before;
  // A late report is no proof of the boot: the boot's own report may not be stored yet.
  if (isOvertaken(plan)) return;
  checkSettled(deps, inventory.host);
  const { host } = before;
  const types = plan.standing === 'newer' ? typesAfter(deps, report, host) : host.attachTypes;
  await applyPlanned(deps, { report, receivedAtMs, plan, toClean, types, inventory });
}

/** The plan of the report, after what is stored of its devices and of others was compared. */
async function planOf(
  deps: LeaseDeps,
  { host, devices }: HostInventory,
  report: AcceptedReport,
  receivedAtMs: number,
) {
  const bounded = planFor(deps, host, devices, report, receivedAtMs);
  const settled = withholdRecovered(bounded, devices, receivedAtMs);
  const { plan, toClean } = await withholdUnclean(deps, host.hostname, settled, devices);
  return { plan: await compareDevices(deps, plan, devices), toClean };
}

/** @returns whether two agents report as this host; this is noted then */
async function isInConflict(
  deps: LeaseDeps,
  inventory: HostInventory,
  plan: ReportPlan,
  report: AcceptedReport,
  receivedAtMs: number,
): Promise<boolean> {
  const bootReport = toBootReport(report, receivedAtMs);
  if (inventory.host.conflict) {
    await noteSighting(deps, inventory, bootReport);
    return true;
  }
  if (plan.standing !== 'conflict') return false;
  if (await beginConflict(deps, inventory, bootReport)) return true;
  throw leaseTaken(inventory.host.hostname);
}

/** @throws RetryLater where the host has just booted */
function checkSettled(deps: LeaseDeps, host: StoredHost): void {
  const seconds = host.isReprovisioning ? settlingSeconds(host, deps.clock()) : undefined;
  if (seconds === undefined) return;
  throw new RetryLater(`Host ${host.hostname} has just booted.`, seconds);
}
