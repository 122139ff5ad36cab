// Orders presence events of a host. They arrive in any order; when a client reconnects before its
// first connection has ended, the end of the first arrives after the start of the second.

import type { Host, Presence } from './device.ts';

// AWS IoT restarts a client's version numbers after about an hour without a connection.
const versionsForgottenAfterMs = 30 * 60_000;

/**
 * Whether the event is later than the known one. Versions count a client's connections; the start
 * and the end of a connection carry the same version, and the end is the later one.
 */
export function supersedes(event: Presence, known: Presence | undefined): boolean {
  if (!known) return true;
  const laterMs = Date.parse(event.at) - Date.parse(known.at);
  if (event.version === undefined || known.version === undefined) return laterMs > 0;
  // A higher version that is much older comes from before the version numbers restarted.
  if (event.version > known.version) return laterMs > -versionsForgottenAfterMs;
  if (event.version === known.version && known.isConnected && !event.isConnected) return true;
  // An event of an earlier connection, or a duplicate, is never later by that much.
  return laterMs > versionsForgottenAfterMs;
}

/** Grace for an agent that lost its connection: most agents reconnect by themselves. */
const graceMs = 60_000;
/** Two heartbeats. An agent that reports is present, even if its presence event was lost. */
const silenceMs = 600_000;

/** Whether the host's agent has been away for longer than the grace. */
export function isLost(host: Pick<Host, 'presence' | 'lastReportAt'>, nowMs: number): boolean {
  const reportedMs = host.lastReportAt ? Date.parse(host.lastReportAt) : 0;
  if (!host.presence) return nowMs - reportedMs > silenceMs;
  if (host.presence.isConnected) return false;
  const heardMs = Math.max(Date.parse(host.presence.at), reportedMs);
  return nowMs - heardMs > graceMs;
}
