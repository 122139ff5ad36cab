// Reads of resource providers: the deployable of a partition with its attach handles. A provider
// can have thousands of handles, so each reader asks for those that it needs.

import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import { needsAllHandles } from '#core/domain/arq/region-handles.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import type { HandleRef } from '#core/domain/host-work/host-work.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { present } from '#core/shapes/derive/present.ts';
import { toHandle } from '#core/store/rows/handle-rows.ts';
import { toDeployable } from '#core/store/rows/inventory-rows.ts';
import { handleKey, type Row } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRows, queryAll, queryPartition } from '#core/store/table/reads.ts';
import { type ProviderPlaces, providerPlaces } from './provider-places.ts';

export interface ProviderReads extends ProviderPlaces {
  /** A provider's deployable with all its handles. */
  provider(uuid: ProviderUuid): Promise<StoredProvider | undefined>;
  /** Those of them that exist, in the given order. */
  providers(uuids: readonly ProviderUuid[]): Promise<StoredProvider[]>;
  /** The providers of these handles. Each has only those of the handles that exist. */
  providersOf(handles: readonly HandleRef[]): Promise<StoredProvider[]>;
  /** Those of the handles that exist. */
  handles(refs: readonly HandleRef[]): Promise<AttachHandle[]>;
  /**
   * The deployable with all handles where they are few or depend on each other. Otherwise with
   * unclaimed handles from a random place on, until they are enough or there are no more.
   */
  providerWith(uuid: ProviderUuid, search: HandleSearch): Promise<StoredProvider | undefined>;
}

interface HandleSearch {
  /** 0 ≤ x < 1; where the search starts. */
  readonly random: number;
  /** Asked after each page, with the handles of the pages so far. */
  readonly isEnough: (handles: readonly AttachHandle[]) => boolean;
}

/** One request reads a provider with at most this many handles. */
const firstPageHandles = 16;
/** Each page of a search is larger than the last, so that a nearly full provider takes few. */
const pageGrowth = 8;

export function providerReads(client: Documents, table: string): ProviderReads {
  const provider = async (uuid: ProviderUuid) =>
    storedProvider(await queryPartition(client, table, partitionKey(uuid)));

  const partition = (uuid: ProviderUuid) => ({
    TableName: table,
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': partitionKey(uuid) },
    ConsistentRead: true,
  });

  async function firstPage(uuid: ProviderUuid) {
    const page = await client.send(
      new QueryCommand({
        ...partition(uuid),
        // The deployable's row sorts before those of its handles. A page that is as long as its
        // limit does not say whether it is the last.
        Limit: 1 + firstPageHandles + 1,
      }),
    );
    const stored = storedProvider(page.Items ?? []);
    return stored && { stored, end: page.LastEvaluatedKey };
  }

  async function search(uuid: ProviderUuid, { random, isEnough }: HandleSearch) {
    // Uuids of handles are hashes, so each place is equally likely. No handle has this key.
    const place = Math.floor(random * 2 ** 32).toString(16);
    const start = `HANDLE#${place.padStart(8, '0')}`;
    const handles: AttachHandle[] = [];
    let limit = firstPageHandles;
    for (const side of ['>', '<']) {
      let from: Row | undefined;
      do {
        const page = await client.send(
          new QueryCommand({
            TableName: table,
            KeyConditionExpression: `pk = :pk AND sk ${side} :start`,
            FilterExpression: 'attribute_not_exists(arq_uuid)',
            ExpressionAttributeValues: { ':pk': partitionKey(uuid), ':start': start },
            ConsistentRead: true,
            Limit: limit,
            ...present({ ExclusiveStartKey: from }),
          }),
        );
        handles.push(...handlesIn(page.Items ?? []));
        if (isEnough(handles)) return handles;
        limit *= pageGrowth;
        from = page.LastEvaluatedKey;
      } while (from);
    }
    return handles;
  }

  return {
    ...providerPlaces(client, table),
    provider,

    async providers(uuids) {
      const providers = await Promise.all(uuids.map(provider));
      return providers.filter((each) => each !== undefined);
    },

    async providersOf(handles) {
      const byProvider = Map.groupBy(handles, ({ providerUuid }) => providerUuid);
      const reads = await Promise.all(
        [...byProvider].map(async ([uuid, refs]) => {
          const uuids = new Set(refs.map(({ handleUuid }) => handleUuid));
          const first = await firstPage(uuid);
          if (!first) return undefined;
          const keys = [...uuids].map((each) => handleKey(uuid, each));
          const stored = !first.end
            ? first.stored.handles
            : handlesIn(await getRows(client, table, keys));
          const byUuid = new Map(stored.map((handle) => [handle.uuid, handle]));
          // In the given order: a job that is made twice has the same steps.
          return { ...first.stored, handles: [...uuids].flatMap((each) => byUuid.get(each) ?? []) };
        }),
      );
      return reads.filter((each) => each !== undefined);
    },

    async handles(refs) {
      const keys = refs.map(({ providerUuid, handleUuid }) => handleKey(providerUuid, handleUuid));
      return handlesIn(await getRows(client, table, keys));
    },

    async providerWith(uuid, handleSearch) {
      const first = await firstPage(uuid);
      if (!first?.end) return first?.stored;
      if (needsAllHandles(first.stored)) {
        const query = { ...partition(uuid), ExclusiveStartKey: first.end };
        const others = handlesIn(await queryAll(client, query));
        return { ...first.stored, handles: [...first.stored.handles, ...others] };
      }
      // The handles of this page are the same for each bind: parallel binds would contend.
      return { ...first.stored, handles: await search(uuid, handleSearch) };
    },
  };
}

const partitionKey = (uuid: ProviderUuid) => `RP#${uuid}`;

/** The rows of a provider's partition. Handles without a deployable are about to be deleted. */
function storedProvider(rows: readonly Row[]): StoredProvider | undefined {
  const deployable = rows.find((row) => row.sk === 'DEPLOYABLE');
  return deployable && { deployable: toDeployable(deployable), handles: handlesIn(rows) };
}

function handlesIn(rows: readonly Row[]): AttachHandle[] {
  return rows.filter((row) => String(row.sk).startsWith('HANDLE#')).map(toHandle);
}
