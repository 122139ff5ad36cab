// DynamoDB's throughput: each table and each index has partitions, and each partition a thousand
// write units and three thousand read units a second, whatever it did before.

import type { TableName } from '#core/store/table/tables.ts';
import { Quota, type Timeline } from '../timeline.ts';

export type ArqIndex = 'by-kind' | 'by-project' | 'by-profile' | 'by-due';
export type Place = TableName | `arqs/${ArqIndex}`;

/** Units for rows of one key; a key is any number, of which equal ones meet in one partition. */
export interface Units {
  readonly place: Place;
  readonly key: number;
  readonly units: number;
}

const perPartition = { writes: 1000, reads: 3000 } as const;

export class DynamoDb {
  readonly #timeline: Timeline;
  readonly #partitions: number;
  readonly #quotas = { reads: new Map<Place, Quota[]>(), writes: new Map<Place, Quota[]>() };

  /** @param warmWrites WRU per second that each table and each index is ready for */
  constructor(timeline: Timeline, warmWrites: number) {
    this.#timeline = timeline;
    this.#partitions = Math.ceil(warmWrites / perPartition.writes);
  }

  /** A stream has a shard for each partition of its table. */
  shardOf(key: number): number {
    return spread(key) % this.#partitions;
  }

  /**
   * All or nothing, as a transaction is. An index that is full refuses the write of its table.
   *
   * @returns where it was refused; undefined if it is done
   */
  take(action: keyof typeof perPartition, all: readonly Units[]): Place | undefined {
    for (const { place, key, units } of all) {
      if (!this.#quotaOf(action, place, key).has(units)) return place;
    }
    for (const { place, key, units } of all) this.#quotaOf(action, place, key).take(units);
    return undefined;
  }

  #quotaOf(action: keyof typeof perPartition, place: Place, key: number): Quota {
    let quotas = this.#quotas[action].get(place);
    if (!quotas) {
      const newQuota = () => new Quota(this.#timeline, perPartition[action]);
      quotas = Array.from({ length: this.#partitions }, newQuota);
      this.#quotas[action].set(place, quotas);
    }
    return quotas[this.shardOf(key)] as Quota;
  }
}

/** Neighbouring numbers come to different partitions, as DynamoDB's own hash has it. */
function spread(key: number): number {
  let mixed = Math.imul(key ^ (key >>> 16), 0x45d9f3b);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

export function tableOfPlace(place: Place): TableName {
  return place.split('/')[0] as TableName;
}
