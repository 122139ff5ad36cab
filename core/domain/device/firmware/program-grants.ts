// Who may program a device: the rules of the policy say which roles may program at all, and an
// operator lets a project program some devices for a time.

import type { Caller } from '#core/domain/caller.ts';
import type { Device, ProgramGrant } from '#core/domain/device/device.ts';
import { Forbidden } from '#core/domain/errors.ts';
import { isAllowed, type PolicyOverrides } from '#core/domain/policy.ts';

/** A device's row has to hold them. */
export const grantsMax = 16;

/** @throws Forbidden unless the caller is an operator, or its project may program the device */
export function checkMayProgram(
  { uuid, grants }: Pick<Device, 'uuid' | 'grants'>,
  caller: Pick<Caller, 'projectId' | 'roles'>,
  overrides: PolicyOverrides,
  nowMs: number,
): void {
  // Those who see the lists of the whole cloud.
  if (isAllowed('cyborg:operator:host:get_all', caller, overrides)) return;
  const { projectId } = caller;
  if (activeGrants(grants, nowMs).some((grant) => grant.projectId === projectId)) return;
  throw new Forbidden(
    `Project ${projectId} may not program device ${uuid}: no operator has let it, or the time is over.`,
    'cyborg.device.not_granted',
  );
}

export function activeGrants(
  grants: readonly ProgramGrant[] | undefined,
  nowMs: number,
): readonly ProgramGrant[] {
  return (grants ?? []).filter(({ until }) => Date.parse(until) > nowMs);
}
