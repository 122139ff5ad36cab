// Orders presence events of a host. They arrive in any order; when a client reconnects before its
// first connection has ended, the end of the first arrives after the start of the second.

import type { Presence, StoredHost } from './host.ts';

// AWS IoT restarts a client's version numbers after about an hour without a connection.
const versionsForgottenAfterMs = 30 * 60_000;

/**
 * Whether the event is later than the known one. Versions count a client's connections; the start
 * and the end of a connection carry the same version, and the end is the later one.
 */
export function supersedes(event: Presence, stored: Presence | undefined): boolean {
  if (!stored) return true;
  const laterMs = Date.parse(event.at) - Date.parse(stored.at);
  if (event.version === undefined || stored.version === undefined) return laterMs > 0;
  // A higher version that is much older comes from before the version numbers restarted.
  if (event.version > stored.version) return laterMs > -versionsForgottenAfterMs;
  if (event.version === stored.version && stored.isConnected && !event.isConnected) return true;
  // An event of an earlier connection, or a duplicate, is never later by that much.
  return laterMs > versionsForgottenAfterMs;
}

/** Grace for an agent that lost its connection: most agents reconnect by themselves. */
export const graceMs = 60_000;
/** How long a report may take from its publication until the rule stamps its time. */
const delayMs = 10_000;
/** Three heartbeats: presence events can be lost, and reports can be late. */
const silenceMs = 3_600_000;

type Heard = Pick<StoredHost, 'presence' | 'lastReportAt' | 'revokedAt'>;

/**
 * Whether the host's agent has been away for longer than the grace. A presence event may be lost:
 * an agent that has reported since its connection ended has connected again, and one that is
 * connected without reporting is gone. One that was revoked is gone at once: AWS IoT takes minutes
 * to end its connection.
 *
 * @param workedAt when work of the agent ended last; ISO 8601
 */
export function isLost(host: Heard, nowMs: number, workedAt?: string): boolean {
  if (host.revokedAt !== undefined) return true;
  if (nowMs - toMs(workedAt) <= graceMs) return false;
  const { presence } = host;
  const reportedMs = toMs(host.lastReportAt);
  const isEnded = presence && !presence.isConnected && reportedMs <= toMs(presence.at) + delayMs;
  return nowMs - lastHeardMs(host) > (isEnded ? graceMs : silenceMs);
}

/**
 * Whether the host may have rebooted since its agent last named its boot: its connection has
 * ended, or its present connection has not named a boot yet. An agent begins each connection with
 * a report of its boot. A reboot empties what the agent has made, and may take less than the grace
 * of {@link isLost}.
 *
 * @param workedAt when work of the agent ended last; ISO 8601. It shows that the agent is back if
 *   the event of its connection was lost. For a known connection only a report proves the boot.
 */
export function mayHaveRebooted(host: Heard, nowMs: number, workedAt?: string): boolean {
  return !hasNamedBoot(host, workedAt) || isLost(host, nowMs, workedAt);
}

function hasNamedBoot({ presence, lastReportAt }: Heard, workedAt?: string): boolean {
  if (!presence) return true;
  const changedMs = toMs(presence.at);
  if (presence.isConnected) return toMs(lastReportAt) >= changedMs;
  return Math.max(toMs(lastReportAt), toMs(workedAt)) > changedMs + delayMs;
}

/** When the agent was last heard of; ISO 8601. Undefined if it never was. */
export function heardAt(host: Heard): string | undefined {
  const heardMs = lastHeardMs(host);
  return heardMs === 0 ? undefined : new Date(heardMs).toISOString();
}

function lastHeardMs({ presence, lastReportAt }: Heard): number {
  return Math.max(toMs(presence?.at), toMs(lastReportAt));
}

function toMs(time: string | undefined): number {
  return time === undefined ? 0 : Date.parse(time);
}
