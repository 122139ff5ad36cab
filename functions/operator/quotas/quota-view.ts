import { quotaAnswer } from '#core/contracts/api/operator/use.ts';
import type { Deps } from '#core/deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import { Forbidden } from '#core/domain/errors.ts';
import { isAllowed, rolesFor } from '#core/domain/policy.ts';
import { countedUse, type Quota } from '#core/domain/quota/quota.ts';
import { toWire } from '#core/shapes/derive/case.ts';

/** Use as counted: ARQs that were deleted since the last recount are in it. */
export function viewQuota(quota: Quota) {
  const use = Object.keys(quota.limits).map((resourceClass): [string, number] => [
    resourceClass,
    countedUse(quota, resourceClass).inUse,
  ]);
  return viewUse(quota.projectId, quota, Object.fromEntries(use));
}

/** @param inUse also of classes without a limit */
export function viewUse(
  projectId: string,
  quota: Quota | undefined,
  inUse: Readonly<Record<string, number>>,
) {
  const unlimited = Object.keys(inUse).map((resourceClass) => [resourceClass, null]);
  const unused = Object.keys(quota?.limits ?? {}).map((resourceClass) => [resourceClass, 0]);
  return toWire(quotaAnswer, {
    projectId,
    limits: { ...Object.fromEntries(unlimited), ...quota?.limits },
    inUse: { ...Object.fromEntries(unused), ...inUse },
    updatedAt: quota?.updatedAt,
  });
}

/** A caller who may not list all quotas sees only that of the caller's project. */
export function refuseOtherProject({ settings }: Deps, caller: Caller, projectId: string): void {
  const rule = 'cyborg:operator:quota:get_all';
  if (caller.projectId === projectId || isAllowed(rule, caller, settings.policy)) return;
  const allowed = rolesFor(rule, settings.policy);
  throw new Forbidden(
    `The quota of another project needs one of the roles ${allowed.join(', ') || 'that no rule names'}.`,
  );
}
