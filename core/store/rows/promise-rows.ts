// Rows of promises. Each number is an attribute of its own, so that requests that are answered at
// once add to it without waiting for each other.

import type { AlternativePromises, Promises } from '#core/domain/profile/promises.ts';
import type { Row } from './rows.ts';

export const promisesKey = ({ name, revision }: { name: string; revision: number }) => ({
  pk: `PROMISES#${name}#${revision}`,
});

export const freeOf = (index: number) => `free_${index}`;
export const roomOf = (index: number) => `room_${index}`;
export const givenOf = (index: number) => `given_${index}`;
export const openOf = (index: number, period: number) => `open_${index}_${period}`;

export function toPromises(row: Row): Promises {
  const alternatives: AlternativePromises[] = [];
  for (let index = 0; row[freeOf(index)] !== undefined; index += 1) {
    const open = Object.entries(row).flatMap(([name, count]): [number, number][] => {
      const [, of, period] = /^open_(\d+)_(\d+)$/.exec(name) ?? [];
      return Number(of) === index ? [[Number(period), Number(count)]] : [];
    });
    alternatives.push({
      free: Number(row[freeOf(index)]),
      room: Number(row[roomOf(index)]),
      given: Number(row[givenOf(index)] ?? 0),
      open: new Map(open),
    });
  }
  return { countedAt: Number(row.counted_at ?? 0), alternatives };
}
