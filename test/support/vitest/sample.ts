// The part of a long table that `npm test` plays. It is fixed, so that a failure comes back in the
// next run; the rest has the tag `long`.

export interface Tenth<Item> {
  readonly sample: Item[];
  readonly rest: Item[];
}

/** Every tenth item, from the first one. */
export function tenthOf<Item>(items: readonly Item[]): Tenth<Item> {
  const isInSample = (index: number) => index % 10 === 0;
  return {
    sample: items.filter((_, index) => isInSample(index)),
    rest: items.filter((_, index) => !isInSample(index)),
  };
}
