// The part of a long table that is played. Its number is fixed, so that a run does not grow with
// the table; the part is fixed, too, so that a failure comes back in the next run.

export interface Parts<Item> {
  readonly sample: Item[];
  readonly rest: Item[];
}

/** `count` items, or all if there are fewer, spread evenly from the first one. */
export function sampleOf<Item>(items: readonly Item[], count: number): Parts<Item> {
  const length = Math.min(count, items.length);
  const chosen = new Set(
    Array.from({ length }, (_, index) => Math.floor((index * items.length) / length)),
  );
  return {
    sample: items.filter((_, index) => chosen.has(index)),
    rest: items.filter((_, index) => !chosen.has(index)),
  };
}
