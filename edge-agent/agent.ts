// The agent's main loop: connects, reports and runs jobs until the connection is lost, waits, and
// repeats.

import { backoffMs } from './backoff.ts';
import type { Session } from './broker/mqtt.ts';
import type { Clock } from './clock.ts';
import type { Driver } from './drivers/contract/driver.ts';
import type { JobRunner } from './handles/run-jobs.ts';
import { type Log, reasonOf } from './log.ts';
import { nextReportMs, nothingAcknowledged, withEverythingDue } from './report/compose-report.ts';
import type { RediscoverRequests } from './report/rediscover-requests.ts';
import { type ReportDeps, reportHello, reportInventory } from './report/report-inventory.ts';

/** Interval at which changes of the host are polled; see `pciSignature` for why this is a poll. */
const watchMs = 5_000;
/** When the control plane is asked again for the cards before; doubles each time. */
const firstAskMs = 60_000;

export interface AgentDeps extends ReportDeps {
  readonly drivers: readonly Driver[];
  readonly intervalSeconds: number;
  readonly jobs: JobRunner;
  readonly looks: RediscoverRequests;
  readonly openSession: (stop: AbortSignal) => Promise<Session>;
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Resolves after `stop` has aborted and the session is closed; never rejects before. */
export async function runAgent(deps: AgentDeps, stop: AbortSignal): Promise<void> {
  let failures = 0;
  while (!stop.aborted) {
    try {
      const session = await deps.openSession(stop);
      deps.log.info('Connected');
      const jobs = deps.jobs.serve(session);
      // Only an acknowledged report resets the backoff: a broker can accept the connection and
      // still refuse reports.
      const reported = () => {
        failures = 0;
      };
      try {
        // Also after a reconnection: until a connection names its boot, the control plane has to
        // assume a reboot.
        await reportHello(deps, driverNames(deps), session.publish);
        await serve(deps, session, stop, reported);
      } finally {
        // A job that ended in the last moment can still be answered.
        if (stop.aborted) await deps.jobs.idle();
        await session.end();
        await jobs;
      }
    } catch (error) {
      if (stop.aborted) break;
      const waitMs = backoffMs(failures++, deps.random());
      deps.log.warn('Not connected', { reason: reasonOf(error), retry_ms: waitMs });
      await deps.clock.sleep(waitMs, stop);
    }
  }
}

/** Starts with a full report, because the control plane may have lost earlier reports. */
async function serve(deps: AgentDeps, session: Session, stop: AbortSignal, reported: () => void) {
  let last = nothingAcknowledged;
  // The answer may be lost, and an older control plane sends none.
  let askAgainMs = firstAskMs;
  const interrupted = AbortSignal.any([stop, session.lost]);
  while (!stop.aborted) {
    // Read before discovery, so that a change during discovery triggers another one.
    const signature = readSignature(deps.drivers);
    const request = deps.looks.take();
    const asksAgain =
      deps.asksCards?.() === true &&
      last !== nothingAcknowledged &&
      deps.clock.monotonicMs() >= last.reportedMs + askAgainMs;
    if (asksAgain) askAgainMs *= 2;
    const before = asksAgain || request.scope === 'everything' ? withEverythingDue(last) : last;
    const { acknowledged, problem } = await reportInventory(deps, session.publish, before);
    last = acknowledged;
    request.done(problem);
    if (problem === undefined) reported();
    const nowMs = deps.clock.monotonicMs();
    const tickMs = nowMs + deps.intervalSeconds * 1000;
    // In the past if a report is due that could not be sent.
    const nextMs = nextReportMs(acknowledged);
    const dueMs = nextMs > nowMs ? Math.min(tickMs, nextMs) : tickMs;
    await untilOccasion(deps, interrupted, dueMs, signature);
    session.lost.throwIfAborted();
  }
}

async function untilOccasion(
  { clock, drivers, looks }: AgentDeps,
  interrupted: AbortSignal,
  dueMs: number,
  signature: string,
): Promise<void> {
  const woken = AbortSignal.any([interrupted, looks.request()]);
  while (!woken.aborted) {
    const leftMs = dueMs - clock.monotonicMs();
    if (leftMs <= 0 || readSignature(drivers) !== signature) return;
    await clock.sleep(Math.min(watchMs, leftMs), woken);
  }
}

function driverNames({ drivers }: AgentDeps): string[] {
  return drivers.map(({ name }) => name);
}

function readSignature(drivers: readonly Driver[]): string {
  return drivers.map(signatureOrNone).join('\n');
}

function signatureOrNone(driver: Driver): string {
  try {
    return String(driver.signature?.() ?? '');
  } catch {
    // The next regular discovery reports the error.
    return '';
  }
}
