// Which of two presence events is the later one. They arrive in any order, and where a client takes
// over its own connection, the end of the first comes after the begin of the second.

import type { Host, Presence } from './device.ts';

// AWS starts a client's versions anew when it has been away for about an hour.
const versionsForgottenAfterMs = 30 * 60_000;

/**
 * Whether the event is news. Versions count a client's connections, and both events of one connection
 * carry the same; its end follows its begin.
 */
export function supersedes(event: Presence, known: Presence | undefined): boolean {
  if (!known) return true;
  const laterMs = Date.parse(event.at) - Date.parse(known.at);
  if (event.version === undefined || known.version === undefined) return laterMs > 0;
  // Counted before the long absence that is over by now, however high.
  if (event.version > known.version) return laterMs > -versionsForgottenAfterMs;
  if (event.version === known.version && known.isConnected && !event.isConnected) return true;
  // No event of an earlier connection, nor one that comes twice, is later by as much as that.
  return laterMs > versionsForgottenAfterMs;
}

/** An agent that just lost its connection is given so long: most come back by themselves. */
const graceMs = 60_000;
/** Two heartbeats: an agent that reports is there, whatever became of the word that it had connected. */
const silenceMs = 600_000;

/** Whether the host's agent is gone, and not only for a moment. */
export function isLost(host: Pick<Host, 'presence' | 'lastReportAt'>, nowMs: number): boolean {
  const reportedMs = host.lastReportAt ? Date.parse(host.lastReportAt) : 0;
  if (!host.presence) return nowMs - reportedMs > silenceMs;
  if (host.presence.isConnected) return false;
  const heardMs = Math.max(Date.parse(host.presence.at), reportedMs);
  return nowMs - heardMs > graceMs;
}
