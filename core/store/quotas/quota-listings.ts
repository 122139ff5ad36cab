// What quotas need from indexes: the ARQs of a project for a recount, and the projects that have
// a quota.

import type { ArqUuid } from '#core/domain/ids.ts';
import type { Quota } from '#core/domain/quota/quota.ts';
import { quotaKind, toQuota } from '#core/store/rows/quota-rows.ts';
import { quotaKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { type Page, pageByUuid } from '#core/store/table/index-pages.ts';
import { getRows, queryAll } from '#core/store/table/reads.ts';

export interface QuotaListings {
  /** In the order of project ids. */
  quotas(page: Pick<Page, 'limit' | 'marker'>): Promise<Quota[]>;
  /** All ARQs of the project, as far as the index shows them. */
  arqUuidsOf(projectId: string): Promise<ArqUuid[]>;
}

export function quotaListings(client: Documents, table: string): QuotaListings {
  return {
    async quotas({ limit, marker }) {
      const keys = await pageByUuid(client, table, quotaKind, marker, { limit });
      const rows = await getRows(
        client,
        table,
        keys.map(({ uuid }) => quotaKey(String(uuid))),
      );
      const quotas = new Map(rows.map(toQuota).map((quota) => [quota.projectId, quota]));
      return keys.flatMap(({ uuid }) => quotas.get(String(uuid)) ?? []);
    },

    async arqUuidsOf(projectId) {
      const keys = await queryAll(client, {
        TableName: table,
        IndexName: 'by-project',
        KeyConditionExpression: 'project_id = :project',
        ExpressionAttributeValues: { ':project': projectId },
      });
      return keys.map(({ uuid }) => uuid as ArqUuid);
    },
  };
}
