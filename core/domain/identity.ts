// Whether one agent or two report as the same host. A cloned image or a restored snapshot has the
// original's key, so both are let in; only their boot ids differ. See docs/adr/0024-two-agents.md.

/** A boot that another boot of the same host has replaced. */
export interface EarlierBoot {
  readonly bootId: string;
  /** When it was first heard of; ISO 8601. */
  readonly bootedAt?: string;
  /** Of its last report that was applied. */
  readonly sequence: number;
  /** When the broker got the first report of the boot that replaced it, in ms. */
  readonly replacedAtMs: number;
  /** Of that report. Agents number reports by their clock, so it tells when the report was made. */
  readonly replacedBySequence: number;
}

/** A boot that has reported while the host's identity is in conflict. */
export interface SeenBoot {
  readonly bootId: string;
  readonly bootedAt?: string;
  readonly sequence: number;
  /** When the broker got its last report; ISO 8601. */
  readonly lastAt: string;
}

/** Two agents report as one host. */
export interface IdentityConflict {
  /** ISO 8601. */
  readonly since: string;
  readonly boots: readonly SeenBoot[];
}

export interface Identity {
  readonly bootId?: string;
  readonly bootedAt?: string;
  readonly sequence: number;
  readonly lastReceivedAtMs: number;
  /** The latest first. */
  readonly earlierBoots: readonly EarlierBoot[];
  readonly conflict?: IdentityConflict;
}

export interface BootReport {
  readonly bootId: string;
  readonly sequence: number;
  readonly receivedAtMs: number;
}

/** More clones than this of one host would each have to report before any reports twice. */
const bootsMax = 16;

/** No broker and no network delays a report by so long. */
const delayMsMax = 60_000;

/**
 * Time for the agent that a boot has replaced to come back, if it still lives: the broker ends its
 * connection, and it connects anew within two seconds.
 */
export const settlingMs = 20_000;

/** A sighting is written again after so long. */
const sightingMs = 10_000;

/**
 * Whether a replaced boot reports again: then two agents have the host's identity. A report that the
 * broker got before the replacement, or that was applied before, says nothing new: it may come late, twice,
 * or from a dead-letter queue. One that the broker got afterwards may have been on its way still, unless
 * its number shows that it was made after the other boot's first, or no way is that long.
 */
export function isReturn({ earlierBoots }: Identity, report: BootReport): boolean {
  const boot = earlierBoots.find(({ bootId }) => bootId === report.bootId);
  if (!boot) return false;
  const sinceMs = report.receivedAtMs - boot.replacedAtMs;
  if (sinceMs <= 0 || report.sequence <= boot.sequence) return false;
  return report.sequence > boot.replacedBySequence || sinceMs > delayMsMax;
}

/** Whether nothing may follow from the boot yet: the agent that it has replaced may still live. */
export function isSettling({ bootedAt, earlierBoots }: Identity, nowMs: number): boolean {
  if (bootedAt === undefined || earlierBoots.length === 0) return false;
  // Either way: the clocks of two functions differ.
  return Math.abs(nowMs - Date.parse(bootedAt)) < settlingMs;
}

/** The boots that the host has had, once the report's replaces them. */
export function replacedBoots(known: Identity, by: BootReport): readonly EarlierBoot[] {
  if (known.bootId === undefined) return known.earlierBoots;
  const replaced: EarlierBoot = {
    bootId: known.bootId,
    ...(known.bootedAt && { bootedAt: known.bootedAt }),
    sequence: known.sequence,
    replacedAtMs: by.receivedAtMs,
    replacedBySequence: by.sequence,
  };
  return [replaced, ...known.earlierBoots].slice(0, bootsMax);
}

/** The conflict as it begins: between the host's boot and the one that has come back. */
export function conflictOf(known: Identity, report: BootReport, now: string): IdentityConflict {
  const { bootId, bootedAt, sequence, lastReceivedAtMs, earlierBoots } = known;
  const current = bootId && {
    bootId,
    ...(bootedAt && { bootedAt }),
    sequence,
    lastAt: new Date(lastReceivedAtMs).toISOString(),
  };
  const { bootedAt: returnedSince } =
    earlierBoots.find((each) => each.bootId === report.bootId) ?? {};
  const returned = { ...seen(report), ...(returnedSince && { bootedAt: returnedSince }) };
  return { since: now, boots: current ? [current, returned] : [returned] };
}

/** Undefined where the report adds nothing that is worth a write. */
export function withSighting(
  conflict: IdentityConflict,
  report: BootReport,
): IdentityConflict | undefined {
  const known = conflict.boots.find(({ bootId }) => bootId === report.bootId);
  const others = conflict.boots.filter((each) => each !== known);
  if (!known) {
    const added = { ...seen(report), bootedAt: new Date(report.receivedAtMs).toISOString() };
    return { ...conflict, boots: [...others, added].slice(-bootsMax) };
  }
  if (report.receivedAtMs < Date.parse(known.lastAt) + sightingMs) return undefined;
  return { ...conflict, boots: [...others, { ...known, ...seen(report) }] };
}

function seen({ bootId, sequence, receivedAtMs }: BootReport): SeenBoot {
  return { bootId, sequence, lastAt: new Date(receivedAtMs).toISOString() };
}

/** What the host is once an operator has said which boot is its own, and the others are over. */
export function settled(
  { boots }: IdentityConflict,
  own: SeenBoot,
  nowMs: number,
): Required<Pick<Identity, 'bootId' | 'bootedAt' | 'sequence' | 'earlierBoots'>> {
  const others = boots.filter(({ bootId }) => bootId !== own.bootId);
  return {
    bootId: own.bootId,
    // Releases that began before it are confirmed by it; without one, none is.
    bootedAt: own.bootedAt ?? new Date(0).toISOString(),
    sequence: own.sequence,
    earlierBoots: others.map(({ bootId, bootedAt, sequence }) => ({
      bootId,
      ...(bootedAt && { bootedAt }),
      sequence,
      replacedAtMs: nowMs,
      // Any report that the broker gets from now on begins the conflict again.
      replacedBySequence: 0,
    })),
  };
}
