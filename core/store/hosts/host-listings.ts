// Hosts in the order of their names, from the index of kinds, where a host's name stands for its
// uuid; and the hosts that have a card.

import type { Device } from '#core/domain/device/device.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import { toDevice } from '#core/store/rows/inventory-rows.ts';
import { hostKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { pageByUuid } from '#core/store/table/index-pages.ts';
import { getRows, queryAll } from '#core/store/table/reads.ts';
import { toSummary } from './host-summaries.ts';

export interface HostListings {
  /** The hosts after the given name, in the order of names. */
  hostsAfter(hostname: string | undefined, limit: number): Promise<HostSummary[]>;
  /**
   * Devices with that serial number on other hosts, if they are not too many; see
   * core/domain/device/card-cleaning.ts.
   *
   * @param except the host of which no device is read
   */
  devicesOfCard(card: string, except: string, hostsMax: number): Promise<Device[] | 'too-many'>;
}

export function hostListings(client: Documents, table: string): HostListings {
  return {
    async hostsAfter(hostname, limit) {
      return (await pageByUuid(client, table, 'host', hostname, { limit })).map(toSummary);
    },

    async devicesOfCard(card, except, hostsMax) {
      const keys = await queryAll(client, {
        TableName: table,
        IndexName: 'by-card',
        KeyConditionExpression: 'card = :card',
        ExpressionAttributeValues: { ':card': card },
        ProjectionExpression: 'pk, sk',
      });
      const exceptKey = hostKey(except).pk;
      const elsewhere = keys
        .map(({ pk, sk }) => ({ pk: String(pk), sk: String(sk) }))
        .filter(({ pk }) => pk !== exceptKey);
      if (new Set(elsewhere.map(({ pk }) => pk)).size > hostsMax) return 'too-many';
      return (await getRows(client, table, elsewhere)).map(toDevice);
    },
  };
}
