// Hosts in the order of their names, from the index of kinds, where a host's name stands for its
// uuid; and the hosts that have a card.

import type { Device } from '../domain/device.ts';
import type { HostSummary } from '../domain/host-summary.ts';
import type { Documents } from './documents.ts';
import { summaryOf } from './host-summaries.ts';
import { pageOfIndex } from './index-pages.ts';
import { deviceOf } from './inventory-rows.ts';
import { getRows, queryAll } from './reads.ts';
import { hostKey } from './rows.ts';

export interface HostListings {
  /** By name, those after the given name. */
  hostsAfter(hostname: string | undefined, limit: number): Promise<HostSummary[]>;
  /**
   * Devices with that serial number on other hosts, if they are not too many; see
   * domain/card-cleaning.ts.
   *
   * @param except the host of which no device is read
   */
  devicesOfCard(card: string, except: string, hostsMax: number): Promise<Device[] | 'too-many'>;
}

export function hostListings(client: Documents, table: string): HostListings {
  return {
    async hostsAfter(hostname, limit) {
      const page = { limit, sortKey: 'uuid', sortDir: 'asc' } as const;
      const rows = await pageOfIndex(client, page, {
        table,
        index: 'by-kind',
        partition: ['kind', 'host'],
        sort: ['uuid', hostname],
        filter: {},
      });
      return rows.map(summaryOf);
    },

    async devicesOfCard(card, except, hostsMax) {
      const keys = await queryAll(client, {
        TableName: table,
        IndexName: 'by-card',
        KeyConditionExpression: 'card = :card',
        ExpressionAttributeValues: { ':card': card },
        ProjectionExpression: 'pk, sk',
      });
      const own = hostKey(except).pk;
      const wanted = keys
        .map(({ pk, sk }) => ({ pk: String(pk), sk: String(sk) }))
        .filter(({ pk }) => pk !== own);
      if (new Set(wanted.map(({ pk }) => pk)).size > hostsMax) return 'too-many';
      return (await getRows(client, table, wanted)).map(deviceOf);
    },
  };
}
