// How many servers fit, each of which needs a place for each of its groups. Pure.

/** The handles that one group of a server needs, all from one supply. */
interface Demand {
  readonly size: number;
}

/** The handles that can be claimed of one provider. */
export interface Supply {
  readonly free: number;
  /** How many servers may place each demand here, by its index; 0 if it cannot be here. */
  readonly most: readonly number[];
}

/**
 * The most servers where demands that compete for a supply are of one size. Where they differ, as
 * many as fit when the largest demands are placed first: never too many.
 */
export function serversThatFit(demands: readonly Demand[], supplies: readonly Supply[]): number {
  const useful = supplies.filter(({ free }) => free > 0);
  const isMixed = useful.some(({ most }) => {
    const sizes = demands.flatMap(({ size }, index) => ((most[index] ?? 0) > 0 ? [size] : []));
    return new Set(sizes).size > 1;
  });
  return isMixed ? byLargest(demands, useful) : byFlow(demands, useful);
}

/** Supplies that the same demands can have count as one. */
interface Place {
  capacity: number;
  readonly most: number[];
}

function mergeSupplies(demands: readonly Demand[], supplies: readonly Supply[]): Place[] {
  const places = new Map<string, Place>();
  for (const { free, most } of supplies) {
    const size = demands.find((_, index) => (most[index] ?? 0) > 0)?.size;
    if (size === undefined) continue;
    const key = most.map((each) => (each === Number.POSITIVE_INFINITY ? 'any' : each)).join();
    const place = places.get(key) ?? { capacity: 0, most: most.map(() => 0) };
    const capacity = Math.floor(free / size);
    place.capacity += capacity;
    for (const [index, each] of most.entries()) {
      place.most[index] = (place.most[index] ?? 0) + Math.min(each, capacity);
    }
    places.set(key, place);
  }
  return [...places.values()];
}

function byFlow(demands: readonly Demand[], supplies: readonly Supply[]): number {
  if (demands.length === 0) return 0;
  const places = mergeSupplies(demands, supplies);
  const total = places.reduce((sum, { capacity }) => sum + capacity, 0);
  let fits = 0;
  let tooMany = Math.floor(total / demands.length) + 1;
  while (tooMany - fits > 1) {
    const servers = Math.floor((fits + tooMany) / 2);
    if (canPlace(demands.length, places, servers)) fits = servers;
    else tooMany = servers;
  }
  return fits;
}

/** Whether each demand has a place for each of the servers: a flow from demands to places. */
function canPlace(demandCount: number, places: readonly Place[], servers: number): boolean {
  const flow = Array.from({ length: demandCount }, () => places.map(() => 0));
  const left = places.map(({ capacity }) => capacity);
  for (let demand = 0; demand < demandCount; demand++) {
    for (let remaining = servers; remaining > 0; ) {
      const moved = augment(demand, remaining, { flow, left, places }, new Set());
      if (moved === 0) return false;
      remaining -= moved;
    }
  }
  return true;
}

interface Flow {
  readonly flow: number[][];
  readonly left: number[];
  readonly places: readonly Place[];
}

/** Places up to `wanted` of a demand; another demand may move elsewhere for it. */
function augment(demand: number, amount: number, state: Flow, seen: Set<number>): number {
  const { flow, left, places } = state;
  for (const [at, { most }] of places.entries()) {
    const placed = flow[demand] as number[];
    const room = Math.min(amount, (most[demand] ?? 0) - (placed[at] ?? 0));
    if (room <= 0 || seen.has(at)) continue;
    seen.add(at);
    const moved = Math.min(room, left[at] ?? 0) || makeRoom(demand, at, room, state, seen);
    if (moved === 0) continue;
    left[at] = (left[at] ?? 0) - moved;
    placed[at] = (placed[at] ?? 0) + moved;
    return moved;
  }
  return 0;
}

function makeRoom(demand: number, at: number, room: number, state: Flow, seen: Set<number>) {
  for (const [other, held] of state.flow.entries()) {
    const most = Math.min(room, held[at] ?? 0);
    if (other === demand || most <= 0) continue;
    const moved = augment(other, most, state, seen);
    if (moved === 0) continue;
    held[at] = (held[at] ?? 0) - moved;
    state.left[at] = (state.left[at] ?? 0) + moved;
    return moved;
  }
  return 0;
}

function byLargest(demands: readonly Demand[], supplies: readonly Supply[]): number {
  const state = supplies.map(({ free, most }) => ({ free, most: [...most] }));
  const order = demands
    .map(({ size }, index) => ({ size, index }))
    .sort((one, other) => other.size - one.size);
  for (let fits = 0; ; fits++) {
    for (const { size, index } of order) {
      // The fullest supply that still has room, so that large rests are kept for large demands.
      const [best] = state
        .filter(({ free, most }) => free >= size && (most[index] ?? 0) > 0)
        .sort((one, other) => one.free - other.free);
      if (!best) return fits;
      best.free -= size;
      best.most[index] = (best.most[index] ?? 0) - 1;
    }
  }
}
