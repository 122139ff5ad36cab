import type { Deps } from '#core/deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import type { Device, ProgramGrant } from '#core/domain/device/device.ts';
import { activeGrants, grantsMax } from '#core/domain/device/firmware/program-grants.ts';
import { DeviceNotFound, InvalidInput } from '#core/domain/errors.ts';
import { timeNow } from '#core/operations/time-now.ts';
import { readDevice } from './find-by-id.ts';

interface Granted {
  readonly device: Device;
  /** Those that are not over. */
  readonly grants: readonly ProgramGrant[];
}

/**
 * Lets a project program the device until then; another time replaces the earlier one.
 *
 * @param until ISO 8601
 * @throws DeviceNotFound, InvalidInput
 */
export async function grantPrograms(
  deps: Deps,
  caller: Caller,
  id: string,
  { projectId, until }: Pick<ProgramGrant, 'projectId' | 'until'>,
): Promise<Granted> {
  const { device } = await readDevice(deps, id);
  const grant = { projectId, until, by: caller.userId, at: timeNow(deps) };
  const outcome = await deps.store.grants.putGrant(device, grant);
  if (outcome === 'absent') throw new DeviceNotFound(id);
  if (outcome === 'full') {
    throw new InvalidInput(`Device ${id} already has ${grantsMax} grants, the maximum.`);
  }
  deps.log.info('Programs granted', { device: device.uuid, project: projectId, until });
  return { device, grants: [...othersOf(deps, device, projectId), grant] };
}

/** The same request again changes nothing. @throws DeviceNotFound */
export async function revokePrograms(deps: Deps, id: string, projectId: string): Promise<Granted> {
  const { device } = await readDevice(deps, id);
  await deps.store.grants.deleteGrant(device, projectId);
  deps.log.info('Programs revoked', { device: device.uuid, project: projectId });
  return { device, grants: othersOf(deps, device, projectId) };
}

function othersOf(deps: Deps, { grants }: Device, projectId: string): ProgramGrant[] {
  return activeGrants(grants, deps.clock()).filter((grant) => grant.projectId !== projectId);
}
