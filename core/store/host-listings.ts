// Hosts in the order of their names, from the index of kinds; a host's name stands for its uuid.

import type { HostSummary } from '../domain/host-summary.ts';
import type { Documents } from './documents.ts';
import { summaryOf } from './host-summaries.ts';
import { pageOfIndex } from './index-pages.ts';

export interface HostListings {
  /** By name, those after the given name. */
  hostsAfter(hostname: string | undefined, limit: number): Promise<HostSummary[]>;
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
  };
}
