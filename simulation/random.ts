// A random generator with a seed: the same seed gives the same scenario.
// sfc32, https://pracrand.sourceforge.net/

export interface Random {
  /** 0 ≤ x < 1 */
  next(): number;
  /** An integer from `min` to `max`, both included. */
  between(min: number, max: number): number;
  chance(probability: number): boolean;
  /** @throws RangeError for an empty list */
  pick<T>(items: readonly T[]): T;
  uuid(): string;
  bytes(count: number): Uint8Array;
}

export function createRandom(seed: number): Random {
  let [a, b, c, d] = [seed | 0, (seed / 2 ** 32) | 0, 0x9e3779b9 | 0, 1];
  function next(): number {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  }
  for (let warm = 0; warm < 12; warm += 1) next();
  const between = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick: (items) => {
      if (items.length === 0) throw new RangeError('Cannot pick from an empty list.');
      return items[between(0, items.length - 1)] as (typeof items)[number];
    },
    uuid: () => {
      const hex = Array.from({ length: 32 }, () => between(0, 15).toString(16));
      hex[12] = '4';
      hex[16] = between(8, 11).toString(16);
      const text = hex.join('');
      return [0, 8, 12, 16, 20]
        .map((from, index, all) => text.slice(from, all[index + 1]))
        .join('-');
    },
    bytes: (count) => Uint8Array.from({ length: count }, () => between(0, 255)),
  };
}
