import * as z from 'zod';
import { quotaAnswer } from '#core/contracts/api/operator/use.ts';
import { limitMax, readLimits } from '#core/domain/quota/quota.ts';
import { countProjectUse } from '#core/operations/quotas/count-use.ts';
import { setQuota } from '#core/operations/quotas/set-quota.ts';
import { action } from '#functions/http/action.ts';
import { checkProjects } from '#functions/operator/projects.ts';
import { viewUse } from './quota-view.ts';

const message = `must be an integer from 0 to ${limitMax}, or null for no limit`;
const body = z.strictObject({
  limits: z.record(
    z.string(),
    z.number(message).int(message).min(0, message).max(limitMax, message).nullable(),
  ),
});

export const setQuotaAction = action(
  { body, answers: { 200: quotaAnswer } },
  async ({ deps, id, body: { limits }, about }) => {
    about({ limits });
    const allowed = readLimits(limits);
    await checkProjects(deps, [id]);
    const quota = await setQuota(deps, id, allowed);
    return { body: viewUse(id, quota, await countProjectUse(deps, id)) };
  },
);
