import type { Deps } from '#core/deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import type { Device, ProgramGrant } from '#core/domain/device/device.ts';
import { activeGrants, grantsMax } from '#core/domain/device/program-grants.ts';
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
  const active = activeGrants(device.grants, deps.clock());
  const others = active.filter((grant) => grant.projectId !== projectId);
  if (others.length >= grantsMax) {
    throw new InvalidInput(`Device ${id} already has ${grantsMax} grants, the maximum.`);
  }
  const grant = { projectId, until, by: caller.userId, at: timeNow(deps) };
  if (!(await deps.store.inventory.putGrant(device, grant))) throw new DeviceNotFound(id);
  // Grants that are over take room.
  for (const over of device.grants ?? []) {
    if (active.includes(over) || over.projectId === projectId) continue;
    await deps.store.inventory.deleteGrant(device, over.projectId);
  }
  deps.log.info('Programs granted', { device: device.uuid, project: projectId, until });
  return { device, grants: [...others, grant] };
}

/** The same request again changes nothing. @throws DeviceNotFound */
export async function revokePrograms(deps: Deps, id: string, projectId: string): Promise<Granted> {
  const { device } = await readDevice(deps, id);
  if (!(await deps.store.inventory.deleteGrant(device, projectId))) throw new DeviceNotFound(id);
  deps.log.info('Programs revoked', { device: device.uuid, project: projectId });
  const active = activeGrants(device.grants, deps.clock());
  return { device, grants: active.filter((grant) => grant.projectId !== projectId) };
}
