// The ways of asking a host for work, from the cheapest. A message and a job carry the same
// document under the same id, so an agent that has done the work answers the other alike. Code
// that depends on the way is a record with one entry for each:
//
//   what is sent       core/operations/bind/start-bind.ts, release/start-release.ts
//   what the end does  core/operations/work-ends/finish-binds.ts

import type { StoredHost } from '#core/domain/host/host.ts';
import { mistrustOf } from '#core/domain/host/trust.ts';
import type { JobNote } from './host-work.ts';

interface Way {
  /** What it carries. */
  readonly carries: 'one work' | 'binds of one device';
  /** The kinds of work that may go this way. */
  readonly kinds: 'bind, release' | 'bind' | 'all';
  /** The way that follows where the host does not answer, or the work is not done. */
  readonly otherwise: 'own-job' | 'deadline';
}

export const ways = {
  /** Short work for a connected host: a thousandth of the price of a job. See ADR 38. */
  message: { carries: 'one work', kinds: 'bind, release', otherwise: 'own-job' },
  /** A job for binds that wait while AWS throttles. See ADR 49. */
  'shared-job': { carries: 'binds of one device', kinds: 'bind', otherwise: 'own-job' },
  'own-job': { carries: 'one work', kinds: 'all', otherwise: 'deadline' },
} as const satisfies Readonly<Record<string, Way>>;

export type WayName = keyof typeof ways;

interface WorkToAsk {
  /** The host does it in seconds, and a message that is lost costs nothing. */
  readonly isShort: boolean;
  /** A message has been sent, and the host has not answered in time. */
  readonly wasSent: boolean;
  /** Waiting binds of the same device that one job has room for. */
  readonly besideCount?: number;
}

export function wayFor(
  { isShort, wasSent, besideCount = 0 }: WorkToAsk,
  { presence }: StoredHost,
): WayName {
  if (isShort && !wasSent && presence?.isConnected === true) return 'message';
  return besideCount > 0 ? 'shared-job' : 'own-job';
}

/** What the end of a job means for one of the bindings that it was for. */
export type BindingEnd =
  /** Its host has made it ready. */
  | 'ready'
  | 'failed'
  /** One of several was not made ready: a job for each shows which. */
  | 'job-for-each'
  /** A shared job made none ready: each bind's own message asks again. */
  | 'left-to-own-job'
  /** The job was for another boot, whose end has taken away what the host made. */
  | 'another-boot'
  /** What the host answers proves nothing. */
  | 'mistrusted';

export function bindingEnd(
  { bindIds, bootId, instances }: JobNote,
  host: StoredHost,
  isDone: boolean,
): BindingEnd {
  const isMistrusted = mistrustOf(host) !== undefined;
  const isForThisBoot = !isMistrusted && host.bootId === bootId;
  if (isDone && isForThisBoot) return 'ready';
  if (bindIds) return 'left-to-own-job';
  if (isMistrusted) return 'mistrusted';
  if (!isForThisBoot) return 'another-boot';
  return instances.length === 1 ? 'failed' : 'job-for-each';
}
