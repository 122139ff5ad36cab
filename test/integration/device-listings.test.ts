// The devices of one host are read from its partition, and in pages like those of the index.

import type { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, it } from 'vitest';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { type Listings, listings } from '#core/store/listings.ts';
import { createDocuments, type Documents } from '#core/store/table/documents.ts';
import type { Page } from '#core/store/table/index-pages.ts';
import { aDevice, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld } from '#test/support/world.ts';

const tables = {
  arqs: `${stage}-arqs`,
  inventory: `${stage}-inventory`,
  profiles: `${stage}-device-profiles`,
};

const world = perFile(startWorld);
const indexes: (string | undefined)[] = [];
let listed: Listings;

beforeAll(async () => {
  const { documents } = createDocuments();
  const send = (command: QueryCommand) => {
    indexes.push(command.input.IndexName);
    return documents.send(command);
  };
  listed = listings({ send } as unknown as Documents, tables);
  for (const [host, vendor] of [
    ['cmp8', '8086'],
    ['cmp9', '10de'],
  ]) {
    const devices = Array.from({ length: 5 }, (_, index) =>
      aDevice({
        address: `0000:0${index}:00.0`,
        provider_suffix: undefined,
        vendor: index < 3 ? String(vendor) : '1172',
      }),
    );
    await applyReport(world.deps, String(host), aReport(devices), Date.now());
  }
});

async function pages(filter: Parameters<Listings['devices']>[1], page: Omit<Page, 'limit'>) {
  const uuids: string[] = [];
  for (let marker: string | undefined; ; marker = uuids.at(-1)) {
    const part = await listed.devices({ ...page, limit: 2, ...(marker && { marker }) }, filter);
    uuids.push(...part.devices.map(({ uuid }) => uuid));
    if (part.devices.length < 2) return uuids;
  }
}

describe('devices of a host', () => {
  const orders = [
    { sortKey: 'uuid', sortDir: 'asc' },
    { sortKey: 'uuid', sortDir: 'desc' },
    { sortKey: 'created_at', sortDir: 'asc' },
    { sortKey: 'created_at', sortDir: 'desc' },
  ] as const;

  it.each(orders)(
    'are in pages by $sortKey, $sortDir, as those of the index are',
    async (order) => {
      const { devices: all } = await listed.devices({ ...order, limit: 1000 }, {});
      const own = all.filter(({ hostname }) => hostname === 'cmp9');
      expect(own).toHaveLength(5);
      expect(await pages({ hostname: 'cmp9' }, order)).toEqual(own.map(({ uuid }) => uuid));
      const nvidia = own.filter(({ vendor }) => vendor === '10de');
      expect(nvidia).toHaveLength(3);
      const filter = { hostname: 'cmp9', vendor: '10de', type: nvidia[0]?.type ?? '' };
      expect(await pages(filter, order)).toEqual(nvidia.map(({ uuid }) => uuid));
    },
  );

  it('are read without those of other hosts', async () => {
    indexes.length = 0;
    const page = { ...orders[0], limit: 1000 };
    const own = await listed.devices(page, { hostname: 'cmp9' });
    expect(own.devices).toHaveLength(5);
    const none = { devices: [] };
    expect(await listed.devices(page, { hostname: 'cmp9', vendor: '8086' })).toEqual(none);
    expect(await listed.devices(page, { hostname: 'none' })).toEqual(none);
    expect(indexes).toEqual([undefined, undefined, undefined]);
  });

  it('of an unknown marker are refused', async () => {
    const page = { ...orders[0], limit: 2, marker: '00000000-0000-4000-8000-000000000000' };
    await expect(listed.devices(page, { hostname: 'cmp9' })).rejects.toThrow(page.marker);
  });
});

describe('devices that a filter with a budget reads', () => {
  const budget = { rows: 2, rowsWithoutMatch: 4 };
  const page = { sortKey: 'uuid', sortDir: 'asc', limit: 1 } as const;

  it('end where a match was found, and all matches are found from there', async () => {
    const found: string[] = [];
    let marker: string | undefined;
    do {
      const part = await listed.devices(
        { ...page, limit: 3, ...(marker && { marker }) },
        { vendor: '10de' },
        budget,
      );
      found.push(...part.devices.map(({ uuid }) => uuid));
      marker = part.readTo ?? (part.devices.length === 3 ? found.at(-1) : undefined);
    } while (marker);
    const { devices } = await listed.devices({ ...page, limit: 1000 }, { vendor: '10de' });
    expect(found).toEqual(devices.map(({ uuid }) => uuid));
  });

  it('end later without a match', async () => {
    const { devices, readTo } = await listed.devices(page, { vendor: 'ffff' }, budget);
    expect([devices, readTo]).toEqual([[], expect.any(String)]);
    const { devices: all } = await listed.devices({ ...page, limit: 1000 }, {});
    expect(all.findIndex(({ uuid }) => uuid === readTo)).toBeGreaterThanOrEqual(3);
  });
});
