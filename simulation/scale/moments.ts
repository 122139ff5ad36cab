// Moments of virtual time in their order: those of the same time as they were planned.

interface Moment<Act> {
  readonly at: number;
  readonly act: Act;
}

interface Planned<Act> extends Moment<Act> {
  readonly order: number;
}

interface Moments<Act> {
  add(at: number, act: Act): void;
  /** Removes the earliest moment; undefined if none is due until then. */
  takeUntil(until: number): Moment<Act> | undefined;
}

export function createMoments<Act>(): Moments<Act> {
  const heap: Planned<Act>[] = [];
  let order = 0;
  return {
    add: (at, act) => insert(heap, { at, act, order: order++ }),
    takeUntil: (until) => {
      const [first] = heap;
      if (!first || first.at > until) return undefined;
      takeFirst(heap);
      return first;
    },
  };
}

function isBefore(a: Planned<unknown>, b: Planned<unknown>): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** Inserts into a heap whose first item is the earliest. */
function insert<Act>(heap: Planned<Act>[], moment: Planned<Act>): void {
  let at = heap.length;
  heap.push(moment);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent] as Planned<Act>;
    if (!isBefore(moment, above)) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = moment;
}

function takeFirst<Act>(heap: Planned<Act>[]): void {
  const last = heap.pop();
  if (!last || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    const right = heap[child + 1];
    if (right && isBefore(right, heap[child] as Planned<Act>)) child += 1;
    if (!isBefore(heap[child] as Planned<Act>, last)) break;
    heap[at] = heap[child] as Planned<Act>;
    at = child;
  }
  heap[at] = last;
}
