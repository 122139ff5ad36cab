import { deleteQuota } from '#core/operations/quotas/set-quota.ts';
import { action } from '#functions/http/action.ts';
import { checkProjectId } from '#functions/operator/projects.ts';

export const deleteQuotaAction = action(
  { answers: { 204: null }, refuses: [404] },
  async ({ deps, id }) => {
    checkProjectId(id);
    await deleteQuota(deps, id);
    return {};
  },
);
