// Usage: how long the projects used accelerators, by resource class and day. It is the sum of
// assignments, and a handle has one at a time: each begins at the claim, which is never before the
// release of the one before. So a second of an accelerator counts once, and the usage of a time is
// the sum of the usage of its parts. Pure.

/** From `from` until just before `to`; milliseconds since 1970. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** One accelerator that one instance had. */
export interface Assignment extends Span {
  readonly projectId: string;
  readonly resourceClass: string;
}

export interface Usage {
  readonly projectId: string;
  readonly resourceClass: string;
  /** In UTC, `YYYY-MM-DD`. */
  readonly day: string;
  readonly acceleratorMs: number;
}

const dayMs = 24 * 60 * 60 * 1000;

/** In the order of projects, classes and days; without days on which nothing was used. */
export function sumUsage(assignments: Iterable<Assignment>, span: Span): Usage[] {
  const sums = new Map<string, Usage>();
  for (const { projectId, resourceClass, ...used } of assignments) {
    for (const { day, ms } of splitByDay(overlap(used, span))) {
      const key = `${projectId}\n${resourceClass}\n${day}`;
      const before = sums.get(key)?.acceleratorMs ?? 0;
      sums.set(key, { projectId, resourceClass, day, acceleratorMs: before + ms });
    }
  }
  return [...sums].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, usage]) => usage);
}

function overlap(one: Span, other: Span): Span {
  return {
    fromMs: Math.max(one.fromMs, other.fromMs),
    toMs: Math.min(one.toMs, other.toMs),
  };
}

function* splitByDay({
  fromMs,
  toMs,
}: Span): Generator<{ readonly day: string; readonly ms: number }> {
  for (let at = fromMs; at < toMs; ) {
    const nextDay = (Math.floor(at / dayMs) + 1) * dayMs;
    const end = Math.min(nextDay, toMs);
    yield { day: new Date(at).toISOString().slice(0, 10), ms: end - at };
    at = end;
  }
}
