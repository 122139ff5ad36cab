import * as z from 'zod';
import { present } from '#core/shapes/derive/present.ts';
import { MarkerNotFound } from '#core/store/table/marker-not-found.ts';
import { listAction } from '#functions/operator/list.ts';
import { viewQuota } from './quota-view.ts';

const marker = z.string().min(1).max(64);

export const getQuotas = listAction('quotas', { marker }, async ({ deps, query }) => {
  const { limit, marker } = query;
  if (marker !== undefined && !(await deps.store.quotas.byProject(marker))) {
    throw new MarkerNotFound(marker);
  }
  const quotas = await deps.listings.quotas({ limit, ...present({ marker }) });
  const next = quotas.length === limit ? quotas.at(-1)?.projectId : undefined;
  return { rows: quotas.map(viewQuota), next };
});
