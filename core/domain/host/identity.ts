// Detects two agents that report as the same host. A cloned image or a restored snapshot has the
// original's key, so the broker accepts both; only their boot ids differ. See
// docs/adr/0024-two-agents.md.

import type { Shaped } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { earlierBoot, presence, seenBoot } from '#core/shapes/host.ts';

type EarlierBoot = Shaped<typeof earlierBoot>;
type SeenBoot = Shaped<typeof seenBoot>;
type Presence = Shaped<typeof presence>;

/** Two agents report as one host. */
export interface IdentityConflict {
  /** ISO 8601. */
  readonly since: string;
  readonly boots: readonly SeenBoot[];
}

interface Identity {
  readonly bootId?: string;
  readonly bootedAt?: string;
  readonly sequence: number;
  readonly lastReceivedAtMs: number;
  /** The latest first. */
  readonly earlierBoots: readonly EarlierBoot[];
  readonly conflict?: IdentityConflict;
  readonly presence?: Presence;
}

export interface BootReport {
  readonly bootId: string;
  readonly sequence: number;
  readonly receivedAtMs: number;
}

/**
 * Earlier boots that are kept. More clones than that would each have to report before one reports
 * twice.
 */
const bootsMax = 16;

/** Longest delay of a report in broker and network. */
const delayMsMax = 60_000;

/**
 * How long a new boot waits for the agent of the replaced boot. If that agent still runs, the
 * broker ends its connection, and it reconnects within two seconds.
 */
export const settlingMs = 20_000;

/**
 * An agent that runs and was disconnected reconnects within two seconds. After twice that and a
 * margin, it does not run.
 */
const absenceMs = 5_000;

/** Longest time from a connection to the first report over it, which names the boot. */
const helloMs = 5_000;

/** Shortest time between two writes of a sighting. */
const sightingMs = 10_000;

/**
 * Whether a replaced boot reports again, so that two agents share the host's identity. A report
 * that the broker received before the replacement, or that was applied before, proves nothing: it
 * may be late, a duplicate, or from a dead-letter queue. A later one may still have been delayed,
 * unless its number is higher than that of the other boot's first report, or the delay is too
 * long.
 */
export function isReturn({ earlierBoots }: Identity, report: BootReport): boolean {
  const boot = earlierBoots.find(({ bootId }) => bootId === report.bootId);
  if (!boot) return false;
  const sinceMs = report.receivedAtMs - boot.replacedAtMs;
  if (sinceMs <= 0 || report.sequence <= boot.sequence) return false;
  return report.sequence > boot.replacedBySequence || sinceMs > delayMsMax;
}

/**
 * When to look again whether something may follow from the boot, in seconds: the agent that it
 * replaced may still run. Undefined once something may follow; at once if the host had been
 * without a connection before the boot's agent connected. Two agents end each other's connection,
 * and so one connects right after the other.
 */
export function settlingSeconds(host: Identity, nowMs: number): number | undefined {
  const { bootedAt, earlierBoots, presence } = host;
  const [replaced] = earlierBoots;
  if (bootedAt === undefined || !replaced) return undefined;
  // In both directions: the clocks of two functions differ.
  const leftMs = settlingMs - Math.abs(nowMs - Date.parse(bootedAt));
  if (leftMs <= 0) return undefined;
  // The event of the boot's connection may come after its report.
  if (!presence || !isConnectionOf(replaced, presence)) return 1;
  const { at, endedBefore } = presence;
  const absentMs = endedBefore === undefined ? 0 : Date.parse(at) - Date.parse(endedBefore);
  return absentMs < absenceMs ? Math.ceil(leftMs / 1000) : undefined;
}

/** Whether the boot that replaced another was first reported over the connection. */
function isConnectionOf(replaced: EarlierBoot, { isConnected, at }: Presence): boolean {
  const connectedMs = Date.parse(at);
  const untilHelloMs = replaced.replacedAtMs - connectedMs;
  const isOfReplaced = (replaced.lastReceivedMs ?? Infinity) >= connectedMs;
  return isConnected && untilHelloMs >= 0 && untilHelloMs < helloMs && !isOfReplaced;
}

/** The earlier boots of the host after the report's boot has replaced the current one. */
export function replacedBoots(stored: Identity, by: BootReport): readonly EarlierBoot[] {
  if (stored.bootId === undefined) return stored.earlierBoots;
  const replaced: EarlierBoot = {
    bootId: stored.bootId,
    ...present({ bootedAt: stored.bootedAt }),
    sequence: stored.sequence,
    lastReceivedMs: stored.lastReceivedAtMs,
    replacedAtMs: by.receivedAtMs,
    replacedBySequence: by.sequence,
  };
  return [replaced, ...stored.earlierBoots].slice(0, bootsMax);
}

/** The new conflict, between the current boot and the replaced boot that reports again. */
export function openConflict(stored: Identity, report: BootReport, now: string): IdentityConflict {
  const { bootId, bootedAt, sequence, lastReceivedAtMs, earlierBoots } = stored;
  const current = bootId && {
    bootId,
    ...present({ bootedAt }),
    sequence,
    lastAt: new Date(lastReceivedAtMs).toISOString(),
  };
  const { bootedAt: returnedSince } =
    earlierBoots.find((each) => each.bootId === report.bootId) ?? {};
  const returned = { ...seen(report), ...present({ bootedAt: returnedSince }) };
  return { since: now, boots: current ? [current, returned] : [returned] };
}

/** Undefined if the report adds nothing to store. */
export function withSighting(
  conflict: IdentityConflict,
  report: BootReport,
): IdentityConflict | undefined {
  const sighted = conflict.boots.find(({ bootId }) => bootId === report.bootId);
  const others = conflict.boots.filter((each) => each !== sighted);
  if (!sighted) {
    const added = { ...seen(report), bootedAt: new Date(report.receivedAtMs).toISOString() };
    return { ...conflict, boots: [...others, added].slice(-bootsMax) };
  }
  if (report.receivedAtMs < Date.parse(sighted.lastAt) + sightingMs) return undefined;
  return { ...conflict, boots: [...others, { ...sighted, ...seen(report) }] };
}

function seen({ bootId, sequence, receivedAtMs }: BootReport): SeenBoot {
  return { bootId, sequence, lastAt: new Date(receivedAtMs).toISOString() };
}

/** The host's identity after an operator has named its own boot. */
export function settled(
  { boots }: IdentityConflict,
  boot: SeenBoot,
  nowMs: number,
): Required<Pick<Identity, 'bootId' | 'bootedAt' | 'sequence' | 'earlierBoots'>> {
  const others = boots.filter(({ bootId }) => bootId !== boot.bootId);
  return {
    bootId: boot.bootId,
    // Releases that began before this time are confirmed by the boot; time 0 confirms none.
    bootedAt: boot.bootedAt ?? new Date(0).toISOString(),
    sequence: boot.sequence,
    earlierBoots: others.map(({ bootId, bootedAt, sequence }) => ({
      bootId,
      ...present({ bootedAt }),
      sequence,
      replacedAtMs: nowMs,
      // Any later report of the boot starts a conflict again.
      replacedBySequence: 0,
    })),
  };
}
