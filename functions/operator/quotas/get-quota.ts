import { quotaAnswer } from '#core/contracts/api/operator/use.ts';
import { countProjectUse } from '#core/operations/quotas/count-use.ts';
import { action } from '#functions/http/action.ts';
import { checkProjectId, checkProjects } from '#functions/operator/projects.ts';
import { refuseOtherProject, viewUse } from './quota-view.ts';

/** A project without a quota has no limits. */
export const getQuota = action({ answers: { 200: quotaAnswer } }, async ({ deps, caller, id }) => {
  refuseOtherProject(deps, caller, id);
  checkProjectId(id);
  const [quota, inUse] = await Promise.all([
    deps.store.quotas.byProject(id),
    countProjectUse(deps, id),
  ]);
  const isStored = quota !== undefined || Object.keys(inUse).length > 0;
  if (!isStored && id !== caller.projectId) await checkProjects(deps, [id]);
  return { body: viewUse(id, quota, inUse) };
});
