import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { AcceptedReport } from '#core/contracts/report/inventory-report.ts';
import type { ReportHead } from '#core/contracts/report/report-head.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { judgeStanding } from '#core/domain/report/report-plan.ts';
import { backoffSeconds, RetryLater } from '#core/domain/retry-later.ts';
import { noteSighting } from '#core/operations/hosts/note-conflict.ts';
import { timeNow } from '../time-now.ts';
import { applyReport, checkPace, ofRevoked } from './apply-report.ts';
import { leaseTaken } from './report-effects.ts';

const retrySecondsMax = 60;

interface ReceivedReport {
  readonly head: ReportHead;
  /** The whole of it, which takes long where it describes many devices. */
  readonly read: () => AcceptedReport;
  readonly receivedAtMs: number;
  /** Which delivery this is, from 1. */
  readonly attempt: number;
}

/**
 * Applies a report, unless a newer one has overtaken it: then it is dropped before it is read, and
 * before anything is written. What a host says more often than any host has to waits until it is
 * overtaken, or its turn comes; the queue is every host's, so it comes back ever less often.
 *
 * @param hostname from the topic, not from the report
 * @throws RetryLater while another report of the host is being applied, or it reports too often
 */
export async function receiveReport(
  deps: ConsumerDeps,
  hostname: string,
  report: ReceivedReport,
): Promise<void> {
  try {
    const admitted = await admit(deps, hostname, report);
    if (admitted)
      await applyReport(deps, hostname, report.read(), report.receivedAtMs, admitted.host);
  } catch (error) {
    if (!(error instanceof RetryLater)) throw error;
    const longest = backoffSeconds(report.attempt, retrySecondsMax);
    const seconds = longest * (0.5 + deps.random() / 2);
    throw new RetryLater(error.message, Math.max(error.seconds, seconds));
  }
}

/**
 * Undefined where nothing is left to do; of a heartbeat, that shows when all of the host is read.
 */
async function admit(
  deps: ConsumerDeps,
  hostname: string,
  { head, receivedAtMs }: ReceivedReport,
): Promise<{ readonly host?: StoredHost } | undefined> {
  if (head.devices.length === 0) return {};
  // One row, however many devices the host has.
  const host = await deps.store.inventory.hostAlone(hostname);
  if (ofRevoked(deps, host)) return undefined;
  const bootReport = { bootId: head.boot_id, sequence: head.sequence, receivedAtMs };
  if (host.conflict) {
    await noteSighting(deps, await deps.store.inventory.host(hostname), bootReport);
    return undefined;
  }
  const isLate = judgeStanding(host, bootReport) === 'late';
  // Its devices may still be wanted: a large report comes in parts, in any order.
  if (isLate && Object.keys(host.wanted).length === 0) return undefined;
  checkPace(deps, host);
  const now = timeNow(deps);
  if (host.leasedUntil !== undefined && host.leasedUntil >= now) throw leaseTaken(hostname);
  return { host };
}
