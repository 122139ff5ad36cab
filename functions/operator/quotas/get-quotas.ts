import * as z from 'zod';
import { MarkerNotFound } from '#core/store/table/marker-not-found.ts';
import { action } from '#functions/http/action.ts';
import { limit, pageReply } from '#functions/operator/page.ts';
import { quotasAnswer, viewQuota } from './quota-view.ts';

const query = z.strictObject({ limit, marker: z.string().min(1).max(64).optional() });

export const getQuotas = action(
  { query, answers: { 200: quotasAnswer } },
  async ({ deps, query: given, base }) => {
    const { marker } = given;
    if (marker !== undefined && !(await deps.store.quotas.of(marker))) {
      throw new MarkerNotFound(marker);
    }
    const quotas = await deps.listings.quotas({ limit: given.limit, ...(marker && { marker }) });
    const next = quotas.length === given.limit ? quotas.at(-1)?.projectId : undefined;
    const at = { base, path: '/quotas', query: given };
    return { body: pageReply('quotas', quotas.map(viewQuota), at, next) };
  },
);
